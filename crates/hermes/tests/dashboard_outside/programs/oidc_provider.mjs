// An OpenID Connect provider on loopback: node-oidc-provider with its own pages for logins.
//
// Arguments: the entry of the package. Environment: CLOCK (seconds by which its clock is wrong),
// SECRET (the secret of the client, which is a public one without it). Prints its port.

import http from 'node:http';
import { pathToFileURL } from 'node:url';

const offset = Number(process.env.CLOCK ?? 0) * 1000;
const now = Date.now.bind(Date);
Date.now = () => now() + offset;

const { default: Provider } = await import(pathToFileURL(process.argv[2]));

const server = http.createServer();
await new Promise((resolve) => server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', resolve));
const { port } = server.address();

const secret = process.env.SECRET;
const client = {
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  // The port of a program on loopback is its own matter (RFC 8252).
  redirect_uris: ['http://127.0.0.1/auth/callback'],
};
const how = secret
  ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: secret }
  : { token_endpoint_auth_method: 'none' };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    { ...client, ...how, client_id: 'dash' },
    { ...client, token_endpoint_auth_method: 'none', client_id: 'other' },
  ],
  claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
  // Names stand in the token itself: nothing else is asked for them.
  conformIdTokenClaims: false,
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: 'Ada Lovelace', email: `${id}@example.org` }),
  }),
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  // Every refresh token is good once; one that comes twice ends the grant.
  rotateRefreshToken: () => true,
  pkce: { required: () => true },
  features: { revocation: { enabled: true }, devInteractions: { enabled: true } },
  ttl: { IdToken: Number(process.env.SECONDS ?? 3600) },
  cookies: { keys: ['a key of the tests'] },
});

// What was asked of the token endpoint, for the tests to look at.
const asked = [];
provider.use(async (ctx, next) => {
  if (ctx.path === '/asked') {
    ctx.body = asked;
    return;
  }
  await next();
  if (ctx.path.startsWith('/token')) {
    asked.push({
      path: ctx.path,
      grant: ctx.oidc?.params?.grant_type,
      status: ctx.status,
      error: ctx.body?.error,
    });
  }
});
server.on('request', provider.callback());
console.log(`READY ${port}`);
