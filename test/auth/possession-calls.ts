import { exportJWK, type generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, Service } from '../support/service.js';

export type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

/** Publishes the JWKS of a client. */
export class Publisher {
  keys: object[] = [];
  private readonly server: Server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: this.keys }));
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/jwks.json`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

export const publicKey = ({ publicKey: half }: Pair): Promise<JWK> => exportJWK(half);
export const setOf = async (one: Pair): Promise<{ keys: JWK[] }> => ({ keys: [await publicKey(one)] });

/** Returns a JWT for client authentication (RFC 7523 section 2.2). */
export function clientAssertion(service: Service, client: string, { privateKey }: Pair): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: client, sub: client, aud: service.url, jti: randomUUID(), iat: now, exp: now + 60 };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
}

export const authenticatedBy = (assertion: string): Record<string, string> => ({
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: assertion,
});

export interface ProofOptions {
  readonly by?: Pair;
  /** Access token that the proof hashes in its `ath` claim. */
  readonly token?: string;
  readonly claims?: JWTPayload;
}

/** Returns a DPoP proof for a call (RFC 9449 section 4.2). */
export async function dpopProof(
  { url }: Service,
  method: string,
  path: string,
  { by, token, claims }: ProofOptions & { by: Pair },
): Promise<string> {
  const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') };
  const usual = { jti: randomUUID(), htm: method, htu: url + path, iat: Math.floor(Date.now() / 1000), ...ath };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await publicKey(by) })
    .sign(by.privateKey);
}

export interface BoundCall extends ProofOptions {
  /** Process to call. The proof contains the public address, which is the same for both processes. */
  readonly at?: Service;
  readonly body?: unknown;
  readonly proof?: string;
}

/** Sends a call with a bound token and a proof. */
export async function callWithProof(
  service: Service,
  method: string,
  path: string,
  token: string,
  options: BoundCall & { by: Pair },
): Promise<Answer> {
  const { at = service, body } = options;
  const proof = options.proof ?? (await dpopProof(service, method, path.split('?')[0] ?? '', { token, ...options }));
  return at.call(method, path, { body, headers: { authorization: `DPoP ${token}`, dpop: proof } });
}
