"""An MCP server at an encrypted address that wants to see a certificate of its callers.

Its argument is the directory of the certificates; it prints its port.
"""
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIRECTORY = sys.argv[1]


def answer(message):
    method = message.get("method")
    if method == "initialize":
        return {
            "protocolVersion": "2025-03-26",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "encrypted", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            return self.reply(202, b"")
        result = answer(message)
        if message.get("method") == "tools/call":
            subject = dict(part[0] for part in self.connection.getpeercert()["subject"])
            result = {"content": [{"type": "text", "text": subject["commonName"]}]}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return self.reply(200, json.dumps(reply).encode())

    def do_GET(self):
        self.reply(405, b"")

    def do_DELETE(self):
        self.reply(200, b"")

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{DIRECTORY}/server.pem", f"{DIRECTORY}/server.key")
context.load_verify_locations(f"{DIRECTORY}/ca.pem")
context.verify_mode = ssl.CERT_REQUIRED
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
