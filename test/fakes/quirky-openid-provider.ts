import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, exportJWK, type JWK, jwtVerify, SignJWT } from 'jose';

export const QUIRKY_CLIENT = { id: 'client:one+two/ü', secret: 'top:secret+/ =%25 ü&' };

export interface SignatureKey {
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}

/** Creates a key pair with its public JWK; `change` overrides members of the published JWK. */
export async function newProviderKey(alg: string, change: JWK = {}): Promise<SignatureKey> {
  const { privateKey, publicKey } = pairFor(alg);
  return {
    alg,
    privateKey,
    jwk: { ...(await exportJWK(publicKey)), kid: randomBytes(4).toString('hex'), alg, ...change },
  };
}

function pairFor(alg: string): { privateKey: KeyObject; publicKey: KeyObject } {
  if (alg.startsWith('ES')) {
    const namedCurve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg] ?? '';
    return generateKeyPairSync('ec', { namedCurve });
  }
  return alg === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('rsa', { modulusLength: 2048 });
}

/** Deviations of a provider. */
export interface Quirks {
  /** Path after the origin. The path is part of the issuer unless the discovery document overrides the issuer. */
  path: string;
  /** Path of the discovery document after the origin. */
  wellKnown: string;
  /** Overrides fields of the discovery document; undefined removes a field. */
  document: Record<string, unknown>;
  /** The only client authentication method accepted. */
  method: string;
  /** URL of the JWKS of a client that uses private_key_jwt. */
  clientKeys: string;
  key: SignatureKey;
  published: JWK[];
  /** Whether tokens have a `kid`. */
  namesKey: boolean;
  /** Overrides claims of the ID token. */
  claims: Record<string, unknown>;
  userinfo: Record<string, unknown> | undefined;
  /** Status of userinfo responses. */
  userinfoStatus: number;
  /** Key that signs userinfo responses as JWTs (OpenID Connect Core section 5.3.2). */
  userinfoKey: SignatureKey | undefined;
  /** Overrides fields of the token response. */
  tokens: Record<string, unknown>;
  /** Content type of JSON responses. */
  contentType: string;
  /** Error returned by the authorization endpoint. */
  refusal: Record<string, string> | undefined;
  /** `iss` parameter of the authorization response (RFC 9207). */
  iss: string | undefined;
  /** Promise that delays token responses until it resolves. */
  held: Promise<void> | undefined;
  /** Whether only pushed authorization requests are accepted (RFC 9126). */
  isPushed: boolean;
}

/** An external OpenID provider that, as configured, behaves correctly, deviates from the specification, or is malicious. */
export class QuirkyProvider {
  private server: Server | undefined;
  private readonly pushed = new Map<string, URLSearchParams>();
  private readonly codes = new Map<string, { nonce: string; redirectUri: string }>();
  private readonly original: Quirks;
  origin = '';
  quirks: Quirks;
  /** Client authentication methods used, in order. */
  readonly seen: string[] = [];
  /** Number of requests for the provider's keys. */
  keysRead = 0;
  /** Number of requests for the discovery document. */
  documentsRead = 0;
  /** Queries received by the authorization endpoint. */
  readonly asked: URLSearchParams[] = [];

  private constructor(key: SignatureKey) {
    this.original = {
      path: '',
      wellKnown: '/.well-known/openid-configuration',
      document: {},
      method: 'client_secret_basic',
      clientKeys: '',
      key,
      published: [key.jwk],
      namesKey: true,
      claims: {},
      userinfo: undefined,
      userinfoStatus: 200,
      userinfoKey: undefined,
      tokens: {},
      contentType: 'application/json',
      refusal: undefined,
      iss: undefined,
      held: undefined,
      isPushed: false,
    };
    this.quirks = this.original;
  }

  static async start(): Promise<QuirkyProvider> {
    const provider = new QuirkyProvider(await newProviderKey('RS256'));
    const server = createServer((request, response) => void provider.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    provider.server = server;
    provider.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return provider;
  }

  /** Resets the provider to the defaults, except for these quirks. */
  is(quirks: Partial<Quirks>): void {
    this.quirks = { ...this.original, ...quirks };
    this.seen.length = 0;
    this.asked.length = 0;
  }

  get issuer(): string {
    return (this.quirks.document['issuer'] as string | undefined) ?? `${this.origin}${this.quirks.path}`;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = new URLSearchParams(Buffer.concat(parts).toString());
    const url = new URL(request.url ?? '/', this.origin);
    const json = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': this.quirks.contentType }).end(JSON.stringify(value));
    if (url.pathname.includes('/.well-known/')) this.documentsRead += 1;
    if (url.pathname === this.quirks.wellKnown) json(200, this.document());
    else if (url.pathname === '/authorize')
      response.writeHead(302, { location: this.authorized(url.searchParams) }).end();
    else if (url.pathname === '/par') {
      const used = await this.clientBy(request.headers.authorization, body);
      this.seen.push(used);
      if (used !== this.quirks.method) json(401, { error: 'invalid_client' });
      else json(201, { request_uri: this.push(body), expires_in: 60 });
    } else if (url.pathname === '/keys') {
      this.keysRead += 1;
      json(200, { keys: this.quirks.published });
    } else if (url.pathname === '/userinfo' && this.quirks.userinfoKey !== undefined)
      response
        .writeHead(200, { 'content-type': 'application/jwt' })
        .end(await this.signedUserinfo(this.quirks.userinfoKey));
    else if (url.pathname === '/userinfo')
      json(this.quirks.userinfoStatus, { sub: 'somebody', ...this.quirks.userinfo });
    else if (url.pathname === '/token') await this.giveTokens(request.headers.authorization, body, json);
    else json(404, {});
  }

  private async giveTokens(
    authorization: string | undefined,
    body: URLSearchParams,
    json: (status: number, value: unknown) => unknown,
  ): Promise<void> {
    const used = await this.clientBy(authorization, body);
    this.seen.push(used);
    await this.quirks.held;
    const code = this.codes.get(body.get('code') ?? '');
    if (used !== this.quirks.method)
      json(401, { error: 'invalid_client', error_description: `registered for\u0007 ${this.quirks.method}` });
    else if (code === undefined) json(400, { error: 'invalid_grant' });
    else
      json(200, {
        access_token: 'an-access-token',
        token_type: 'Bearer',
        id_token: await this.idToken(code.nonce),
        ...this.quirks.tokens,
      });
  }

  private document(): Record<string, unknown> {
    const at = (name: string) => `${this.origin}/${name}`;
    return {
      issuer: `${this.origin}${this.quirks.path}`,
      authorization_endpoint: at('authorize'),
      token_endpoint: at('token'),
      jwks_uri: at('keys'),
      ...(this.quirks.isPushed
        ? { pushed_authorization_request_endpoint: at('par'), require_pushed_authorization_requests: true }
        : {}),
      ...(this.quirks.userinfo === undefined ? {} : { userinfo_endpoint: at('userinfo') }),
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [this.quirks.key.alg],
      token_endpoint_auth_methods_supported: [this.quirks.method],
      ...this.quirks.document,
    };
  }

  private push(request: URLSearchParams): string {
    const name = `urn:ietf:params:oauth:request_uri:${randomBytes(8).toString('hex')}`;
    this.pushed.set(name, request);
    return name;
  }

  private authorized(asked: URLSearchParams): string {
    this.asked.push(asked);
    const query = this.quirks.isPushed
      ? (this.pushed.get(asked.get('request_uri') ?? '') ?? new URLSearchParams())
      : asked;
    const code = randomBytes(8).toString('hex');
    const redirectUri = query.get('redirect_uri') ?? '';
    this.codes.set(code, { nonce: query.get('nonce') ?? '', redirectUri });
    const answer = this.quirks.refusal ?? { code };
    const parameters = new URLSearchParams({ ...answer, state: query.get('state') ?? '' });
    if (this.quirks.iss !== undefined) parameters.set('iss', this.quirks.iss);
    return `${redirectUri}?${parameters.toString()}`;
  }

  private idToken(nonce: string): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: QUIRKY_CLIENT.id,
      sub: 'somebody',
      iat: now,
      exp: now + 300,
      nonce,
      ...this.quirks.claims,
    };
    const { alg, privateKey, jwk } = this.quirks.key;
    const kid = this.quirks.namesKey ? { kid: jwk.kid ?? 'unpublished' } : {};
    return new SignJWT(claims).setProtectedHeader({ alg, ...kid }).sign(privateKey);
  }

  private signedUserinfo({ alg, privateKey, jwk }: SignatureKey): Promise<string> {
    const claims = { iss: this.issuer, aud: QUIRKY_CLIENT.id, sub: 'somebody', ...this.quirks.userinfo };
    return new SignJWT(claims).setProtectedHeader({ alg, kid: jwk.kid ?? 'unpublished' }).sign(privateKey);
  }

  /** Returns the client authentication method used, or the reason why authentication failed. */
  private async clientBy(authorization: string | undefined, body: URLSearchParams): Promise<string> {
    const { id, secret } = QUIRKY_CLIENT;
    if (authorization?.startsWith('Basic ') === true) {
      const [name, word] = Buffer.from(authorization.slice(6), 'base64').toString().split(':');
      const decoded = (text = '') => decodeURIComponent(text.replaceAll('+', ' '));
      return decoded(name) === id && decoded(word) === secret ? 'client_secret_basic' : 'another secret';
    }
    const assertion = body.get('client_assertion');
    if (assertion !== null) return this.clientByAssertion(assertion);
    if (body.get('client_id') !== id) return 'another client';
    if (!body.has('client_secret')) return 'none';
    return body.get('client_secret') === secret ? 'client_secret_post' : 'another secret';
  }

  private async clientByAssertion(assertion: string): Promise<string> {
    const { id, secret } = QUIRKY_CLIENT;
    const options = { issuer: id, subject: id, audience: [`${this.origin}/token`, this.issuer] };
    if (this.quirks.method === 'client_secret_jwt')
      return jwtVerify(assertion, Buffer.from(secret), options).then(() => 'client_secret_jwt', String);
    const keys = createRemoteJWKSet(new URL(this.quirks.clientKeys));
    return jwtVerify(assertion, keys, options).then(() => 'private_key_jwt', String);
  }
}
