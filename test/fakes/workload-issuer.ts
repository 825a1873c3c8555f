import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

const RUNNER = { id: 'runner', secret: 'the runner proves itself to the build system, not to us' };
/** Token with which a job requests identity tokens, as in GitHub Actions. */
const REQUEST_TOKEN = 'the-request-token-of-the-job';

/** Faults that the issuer can simulate when it serves its documents. */
export type Misbehaviour = 'slow' | 'huge' | 'empty' | 'other-issuer' | 'no-json' | 'away' | 'inside';

/**
 * An issuer of identity tokens for jobs: oidc-provider, a certified OpenID provider, which signs JWTs with the claims of a build system.
 * Jobs request tokens as in GitHub Actions; other build systems provide them in the environment or a file.
 */
export class WorkloadIssuer {
  /** Claims of the job that requests a token. */
  claims: JWTPayload = {};
  misbehaviour: Misbehaviour | undefined;
  /** Number of requests for the issuer's keys. */
  keyReadings = 0;
  issuer = '';
  private server: Server | undefined;
  private key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'] | undefined;
  private kid = 0;
  private provider: Provider | undefined;

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await this.rotate();
  }

  /** Replaces the issuer's key. The previous key is no longer published. */
  async rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.key = privateKey;
    this.kid += 1;
    this.provider = new Provider(this.issuer, {
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: String(this.kid), alg: 'RS256', use: 'sig' }] },
      clients: [
        {
          client_id: RUNNER.id,
          client_secret: RUNNER.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      cookies: { keys: ['a key of the test issuer'] },
      features: {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            scope: '',
            audience,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 300,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      extraTokenClaims: () => this.claims,
      formats: {
        customizers: {
          jwt: (_context, _token, parts) => {
            const { client_id: _client, scope: _scope, ...payload } = parts.payload;
            parts.payload = { ...payload, ...this.claims };
          },
        },
      },
    });
  }

  /** Returns the environment of a GitHub Actions job with `id-token: write`. */
  get jobEnvironment(): Record<string, string> {
    return {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${this.issuer}/_apis/job/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
    };
  }

  /** Returns a token for a job with these claims, issued by the provider. */
  async tokenFor(claims: JWTPayload, audience: string): Promise<string> {
    this.claims = claims;
    const credentials = Buffer.from(`${RUNNER.id}:${encodeURIComponent(RUNNER.secret)}`).toString('base64');
    const answer = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
    });
    const { access_token: token } = (await answer.json()) as { access_token?: string };
    if (token === undefined) throw new Error(`the issuer gives no token: ${answer.status}`);
    return token;
  }

  /** Signs arbitrary claims with the issuer's key, for tokens with a single fault. */
  sign(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    if (this.key === undefined) throw new Error('it was not started');
    const protectedHeader = { alg: 'RS256', kid: String(this.kid), ...header };
    return new SignJWT(claims).setProtectedHeader(protectedHeader).sign(this.key);
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.issuer);
    if (pathname === '/_apis/job/token') return this.answerJob(request, response, searchParams.get('audience') ?? '');
    if (pathname === '/jwks') this.keyReadings += 1;
    if (this.misbehaviour !== undefined && misbehaved(this.misbehaviour, pathname, response)) return undefined;
    return this.provider?.callback()(request, response);
  }

  private async answerJob(request: IncomingMessage, response: ServerResponse, audience: string): Promise<void> {
    if (request.headers.authorization !== `Bearer ${REQUEST_TOKEN}`) {
      response.writeHead(401).end();
      return;
    }
    const value = await this.tokenFor(this.claims, audience);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ count: value.length, value }));
  }
}

/** Responds according to `how`. Returns true if the response was sent or is withheld forever. */
function misbehaved(how: Misbehaviour, pathname: string, response: ServerResponse): boolean {
  const isKeys = pathname === '/jwks';
  const send = (body: string, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    return true;
  };
  switch (how) {
    case 'away':
      return send('{}', 503);
    case 'slow':
      return isKeys;
    case 'huge':
      return isKeys && send(JSON.stringify({ keys: [{ kty: 'RSA', e: 'AQAB', n: 'A'.repeat(1_000_000) }] }));
    case 'empty':
      return isKeys && send('{"keys":[]}');
    case 'no-json':
      return isKeys && send('<html>');
    case 'other-issuer':
      return (
        !isKeys && send(JSON.stringify({ issuer: 'https://issuer.example', jwks_uri: 'https://issuer.example/jwks' }))
      );
    case 'inside':
      return (
        !isKeys &&
        send(JSON.stringify({ issuer: `http://${response.req.headers.host}`, jwks_uri: 'http://169.254.169.254/keys' }))
      );
  }
}
