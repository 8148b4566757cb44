"""A model server without any thinking time, for scripts/bench.

It speaks chat completions and responses, streamed. The first part of the path says how many calls
of a command the model makes before it answers: below `/calls30` it asks for `true` thirty times,
one call a request, and then says `done`. What it was asked is counted per script.
"""

import json
import socket
import threading

# The tool that runs a command, by what the asking program calls it, and its argument.
COMMAND_TOOLS = {"terminal": "command", "exec_command": "cmd"}


class ModelServer:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.requests = []
        threading.Thread(target=self._accept, daemon=True).start()

    def base_url(self, calls):
        return f"http://127.0.0.1:{self.port}/calls{calls}/v1"

    def taken(self):
        """The paths asked for since the last time, in order."""
        with self.lock:
            taken, self.requests = self.requests, []
        return taken

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                while request := read_request(reader):
                    method, path, body = request
                    with self.lock:
                        self.requests.append(f"{method} {path}")
                    connection.sendall(self.answered(path, body))
            except OSError:
                pass  # the other side has gone, as programs do that end

    def answered(self, path, body):
        return answer(path, body)


def read_request(reader):
    first = reader.readline().split()
    if len(first) < 2:
        return None
    length = 0
    while (line := reader.readline().strip()):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return first[0].decode(), first[1].decode(), reader.read(length)


def answer(path, body):
    kind = path.partition("?")[0].rsplit("/", 1)[-1]
    if kind not in ("completions", "responses") or not body:
        return http(b"{}", "application/json", "404 Not Found")
    asked = json.loads(body)
    calls = int(path.split("/")[1].removeprefix("calls") or 0)
    if kind == "completions":
        return completion(asked, calls)
    return response(asked, calls)


def http(body, content, status="200 OK"):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def next_call(names, made, calls):
    """The call to ask for, as name and arguments; nothing when the answer is due."""
    name = next((one for one in COMMAND_TOOLS if one in names), None)
    if name is None or made >= calls:
        return None
    return name, json.dumps({COMMAND_TOOLS[name]: "true"})


def completion(asked, calls):
    names = [tool["function"]["name"] for tool in asked.get("tools") or []]
    made = sum(message["role"] == "tool" for message in asked["messages"])
    call = next_call(names, made, calls)
    usage = {"prompt_tokens": 1000, "completion_tokens": 5, "total_tokens": 1005}
    if not asked.get("stream"):
        message = {"role": "assistant", "content": "done"}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": usage}
        return http(json.dumps(body).encode(), "application/json")
    if call:
        name, arguments = call
        delta = {"role": "assistant", "tool_calls": [
            {"index": 0, "id": f"call_{made}", "type": "function",
             "function": {"name": name, "arguments": arguments}}]}
    else:
        delta = {"role": "assistant", "content": "done"}
    reason = "tool_calls" if call else "stop"
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
              {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
              {"choices": [], "usage": usage}]
    common = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": asked["model"]}
    text = "".join(f"data: {json.dumps(common | chunk)}\n\n" for chunk in chunks)
    return http(f"{text}data: [DONE]\n\n".encode(), "text/event-stream")


def response(asked, calls):
    names = [tool.get("name") for tool in asked.get("tools") or []]
    made = sum(item.get("type") == "function_call_output" for item in asked["input"])
    call = next_call(names, made, calls)
    if call:
        name, arguments = call
        item = {"type": "function_call", "id": f"fc_{made}", "call_id": f"call_{made}",
                "name": name, "arguments": arguments, "status": "completed"}
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "done", "annotations": []}]}
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
             "total_tokens": 1005}
    made_response = {"id": f"resp_{made}", "object": "response", "created_at": 0,
                     "model": asked["model"], "output": [item]}
    events = [
        {"type": "response.created", "response": made_response | {"output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed",
         "response": made_response | {"status": "completed", "usage": usage}},
    ]
    text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return http(text.encode(), "text/event-stream")
