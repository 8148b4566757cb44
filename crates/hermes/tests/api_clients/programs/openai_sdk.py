"""The `openai` package of PyPI against the API server: one function per test.

Called with the name of a function; `API_BASE` and `API_KEY` say where. The model behind the server is
scripted by the test, which also counts what reaches it.
"""

import asyncio
import json
import os
import sys

import openai

BASE, KEY = os.environ["API_BASE"], os.environ["API_KEY"]
MODEL = "hermes-agent"


def client(**options):
    return openai.OpenAI(**{"base_url": BASE, "api_key": KEY, "max_retries": 0, **options})


def user(text):
    return {"role": "user", "content": text}


def refused(kind, status, call, code=None, param=None):
    """The error that the call must raise."""
    try:
        call()
    except openai.APIStatusError as error:
        assert type(error) is kind, f"{type(error)} instead of {kind}: {error}"
        assert error.status_code == status, error.status_code
        assert isinstance(error.body, dict) and error.body["message"], error.body
        assert code is None or error.code == code, error.code
        assert param is None or error.param == param, error.param
        return error
    raise AssertionError(f"not refused with {status}")


def chat():
    models = client().models.list().data
    assert [model.id for model in models] == [MODEL], models
    raw = client().chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "system", "content": "Be brief."}, user("hello")])
    session = raw.headers["x-hermes-session-id"]
    assert session.startswith("api-"), session
    first = raw.parse()
    assert first.object == "chat.completion" and first.id.startswith("chatcmpl-"), first
    choice = first.choices[0]
    assert choice.message.content == "Good day.", choice
    assert choice.finish_reason == "stop" and choice.message.role == "assistant", choice
    usage = first.usage
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0, usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage
    # Content as a list of parts; the history goes with it, as clients do.
    raw = client().chat.completions.with_raw_response.create(model=MODEL, messages=[
        {"role": "system", "content": "Be brief."}, user("hello"),
        {"role": "assistant", "content": choice.message.content},
        {"role": "user", "content": [{"type": "text", "text": "and now"}]}])
    assert raw.headers["x-hermes-session-id"] == session
    assert raw.parse().choices[0].message.content == "hello, and now"
    # The same request twice under one key is one turn.
    def again():
        return client().chat.completions.create(
            model=MODEL, messages=[user("only once")],
            extra_headers={"Idempotency-Key": "a-key-of-the-client"})
    assert again() == again()


def chat_at_once():
    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=BASE, api_key=KEY, max_retries=0) as many:
            async def one(number):
                answer = await many.chat.completions.create(
                    model=MODEL, messages=[user(f"echo {number}.")])
                assert answer.choices[0].message.content == f"echo {number}.", answer
            await asyncio.gather(*(one(number) for number in range(8)))
    asyncio.run(all_of_them())


def streaming():
    stream = client().chat.completions.create(
        model=MODEL, messages=[user("tell me")], stream=True,
        stream_options={"include_usage": True})
    chunks = list(stream)
    assert all(chunk.object == "chat.completion.chunk" for chunk in chunks), chunks
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    deltas = [choice.delta.content for chunk in chunks for choice in chunk.choices
              if choice.delta.content]
    assert deltas == ["Ein ", "Text ", "in ", "Stücken ✓"], deltas
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices
               if choice.finish_reason]
    assert reasons == ["stop"], reasons
    assert chunks[-1].usage.completion_tokens > 0, chunks[-1]
    # The helper that puts a completion together by itself.
    with client().chat.completions.stream(model=MODEL, messages=[user("tell me")]) as stream:
        kinds = {event.type for event in stream}
        whole = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds, kinds
    assert whole.choices[0].message.content == "Ein Text in Stücken ✓", whole
    assert whole.choices[0].finish_reason == "stop", whole


def leaving():
    """Goes away in the middle; the test sees that the model hears of it."""
    stream = client().chat.completions.create(
        model=MODEL, messages=[user("tell me slowly")], stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()


def tool_calls():
    """Tools run on the server. Naive clients look at `choices` of everything that comes."""
    stream = client().chat.completions.create(
        model=MODEL, messages=[user("count in a chat")], stream=True)
    text, progress = "", []
    for chunk in stream:
        for choice in chunk.choices:
            assert not choice.delta.tool_calls, chunk
            text += choice.delta.content or ""
        if getattr(chunk, "toolCallId", None):
            progress.append((chunk.tool, chunk.status))
    assert progress == [("terminal", "running"), ("terminal", "completed")], progress
    assert text == "It is forty-two.", text
    with client().chat.completions.stream(
            model=MODEL, messages=[user("count in a helper")]) as stream:
        whole = stream.get_final_completion()
    assert whole.choices[0].message.content == "It is forty-two.", whole
    assert not whole.choices[0].message.tool_calls, whole
    response = client().responses.create(model=MODEL, input="count in a response")
    kinds = [item.type for item in response.output]
    assert kinds == ["function_call", "function_call_output", "message"], kinds
    call, output, _ = response.output
    assert call.name == "terminal" and call.status == "completed", call
    assert json.loads(call.arguments)["command"] == "echo server-$((6*7))", call
    assert output.call_id == call.call_id and "server-42" in str(output.output), output
    assert response.output_text == "It is forty-two.", response


def responses():
    first = client().responses.create(model=MODEL, input="hello", instructions="Be brief.")
    assert first.object == "response" and first.status == "completed", first
    assert first.output_text == "Good day.", first
    usage = first.usage
    assert usage.input_tokens > 0 and usage.output_tokens > 0, usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens, usage
    assert client().responses.retrieve(first.id).output_text == "Good day."
    second = client().responses.create(
        model=MODEL, input=[user("and now")], previous_response_id=first.id)
    assert second.output_text == "hello, and now", second
    assert second.previous_response_id == first.id, second
    client().responses.delete(first.id)
    refused(openai.NotFoundError, 404, lambda: client().responses.retrieve(first.id))
    for text, answer in (("hello", "Good day."), ("and now", "hello, and now")):
        named = client().responses.create(model=MODEL, input=text, conversation="of the client")
        assert named.output_text == answer, named


def responses_streamed():
    events = list(client().responses.create(model=MODEL, input="tell me", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    text = "".join(event.delta for event in events
                   if event.type == "response.output_text.delta")
    assert text == "Ein Text in Stücken ✓" == events[-1].response.output_text, text
    with client().responses.stream(model=MODEL, input="tell me") as stream:
        kinds = {event.type for event in stream}
        whole = stream.get_final_response()
    assert "response.output_text.done" in kinds, kinds
    assert whole.output_text == text and whole.status == "completed", whole
    with client().responses.stream(model=MODEL, input="count in a stream") as stream:
        done = [event.item.type for event in stream
                if event.type == "response.output_item.done"]
        whole = stream.get_final_response()
    assert done == ["function_call", "function_call_output", "message"], done
    assert whole.output_text == "It is forty-two.", whole


def errors():
    def ask(text="hello", **options):
        return lambda: client(**options).chat.completions.create(model=MODEL,
                                                                 messages=[user(text)])
    refused(openai.AuthenticationError, 401, ask(api_key="not-the-key-at-all"),
            code="invalid_api_key")
    refused(openai.NotFoundError, 404, lambda: client().models.retrieve("no-such-model"))
    refused(openai.NotFoundError, 404, lambda: client().embeddings.create(model=MODEL, input="x"),
            code="not_found")
    refused(openai.NotFoundError, 404, lambda: client().responses.create(
        model=MODEL, input="x", previous_response_id="resp_unknown"))
    refused(openai.BadRequestError, 400,
            lambda: client().chat.completions.create(model=MODEL, messages=[]), param="messages")
    refused(openai.BadRequestError, 400, lambda: client().chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": [
            {"type": "file", "file": {"file_id": "file-1"}}]}]),
        code="unsupported_content_type", param="messages[0].content")
    refused(openai.APIStatusError, 413, ask("x" * 10_000_001), code="body_too_large")
    # The model refuses: there is nothing to answer with.
    refused(openai.InternalServerError, 502, ask("fail"), code="agent_incomplete")
    try:
        for _ in client().chat.completions.create(model=MODEL, messages=[user("fail")],
                                                  stream=True):
            pass
    except openai.APIError as error:
        assert error.message, error
    else:
        raise AssertionError("a stream without an answer ended as if all were well")
    try:
        with client().responses.stream(model=MODEL, input="fail") as stream:
            kinds = [event.type for event in stream]
        assert kinds[-1] == "response.failed", kinds
    except openai.APIError:
        pass
    # One that guesses is put off, and the one with the key is not.
    for _ in range(9):
        refused(openai.AuthenticationError, 401, ask(api_key="not-the-key-at-all"))
    late = refused(openai.RateLimitError, 429, ask(api_key="not-the-key-at-all"))
    assert int(late.response.headers["retry-after"]) > 0
    assert ask()().choices[0].message.content == "Good day."


def overload():
    """One turn at a time is allowed, and one is on its way."""
    stream = client().chat.completions.create(
        model=MODEL, messages=[user("tell me slowly")], stream=True)
    next(iter(stream))
    def ask(**options):
        return client(**options).chat.completions.create(model=MODEL, messages=[user("hello")])
    error = refused(openai.RateLimitError, 429, ask, code="rate_limit_exceeded")
    assert error.response.headers["retry-after"] == "1", error.response.headers
    assert error.body["type"] == "rate_limit_error", error.body
    # A patient client, as it is by default, comes back until its turn has come.
    assert ask(max_retries=20).choices[0].message.content == "Good day."
    stream.close()


globals()[sys.argv[1]]()
