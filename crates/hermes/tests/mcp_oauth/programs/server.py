"""An MCP server with logins, of the SDK on PyPI: `server.py PORT SECONDS`.

SECONDS is the lifetime of an access token. The SDK has the protocol: discovery, registration, PKCE,
tokens, resources. What it leaves to whoever runs a server is here, in memory and strict: a code and a
token for renewals are good for one use, and a token is good for this server only.

`/test/...` is for the test: what was done, and the end of all tokens.
"""

import secrets
import sys
import time

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse

PORT, LIFETIME = int(sys.argv[1]), int(sys.argv[2])
ROOT = f"http://127.0.0.1:{PORT}"


class InMemory(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.counts = {"registrations": 0, "codes": 0, "renewals": 0, "refused_renewals": 0}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.counts["registrations"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = "code-canary-" + secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60,
            client_id=client.client_id, code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource)
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        self.counts["codes"] += 1
        return self.grant(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        found = self.refresh.get(refresh_token)
        if found is None:
            self.counts["refused_renewals"] += 1
        return found

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "used before")
        self.counts["renewals"] += 1
        return self.grant(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        found = self.access.get(token)
        if found is None or found.expires_at <= time.time():
            return None
        return found

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def grant(self, client, scopes, resource):
        access, refresh = (f"{kind}-canary-{secrets.token_hex(20)}" for kind in ("access", "refresh"))
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, resource=resource,
            expires_at=int(time.time()) + LIFETIME)
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes, resource=resource)
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=LIFETIME,
                          scope=" ".join(scopes) or None, refresh_token=refresh)


provider = InMemory()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=ROOT, resource_server_url=f"{ROOT}/mcp", required_scopes=["read"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["read"], default_scopes=["read"])))


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.custom_route("/test/counts", methods=["GET"])
async def counts(_request):
    return JSONResponse(provider.counts)


@server.custom_route("/test/expire", methods=["POST"])
async def expire(_request):
    """Ends all access tokens before their time; they can be renewed."""
    provider.access.clear()
    return JSONResponse({})


@server.custom_route("/test/revoke", methods=["POST"])
async def revoke(_request):
    """Ends all logins."""
    provider.access.clear()
    provider.refresh.clear()
    return JSONResponse({})


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=PORT, log_level="warning")
