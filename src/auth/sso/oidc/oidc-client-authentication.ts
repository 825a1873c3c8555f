import { importPKCS8 } from 'jose';
import * as oidc from 'openid-client';
import { createHash, X509Certificate } from 'node:crypto';
import type { ClientAuthenticationMethod, OidcSettings } from '../../model/identity-provider.entity.js';

/** The default if the discovery document names no methods (OpenID Connect Discovery section 3). */
const DEFAULT_METHODS = ['client_secret_basic'];
const WITH_SECRET = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'] as const;
/** Algorithm of client assertions, which every provider supports. */
const ASSERTION_ALGORITHM = 'RS256';

/**
 * Returns the authentication method: the configured method, otherwise the first method with a secret that the provider supports, or `none` for a client without
 * a secret.
 *
 * @throws Error if the provider supports no method with a secret
 */
export function clientAuthenticationFor(
  { clientAuthentication }: OidcSettings,
  { token_endpoint_auth_methods_supported: methods = DEFAULT_METHODS }: oidc.ServerMetadata,
  hasSecret: boolean,
): ClientAuthenticationMethod {
  if (clientAuthentication != null) return clientAuthentication;
  if (!hasSecret) return 'none';
  const found = WITH_SECRET.find((method) => methods.includes(method));
  if (found !== undefined) return found;
  const detail = methods.includes('private_key_jwt') ? '; set clientAuthentication to private_key_jwt' : '';
  throw new Error(`the provider accepts no client secret, only ${methods.join(', ')}${detail}`);
}

/** Returns the client authentication for openid-client. @param secret the client secret or, for private_key_jwt, the service's private key (PEM, PKCS #8) */
export async function clientAuthenticationOf(
  method: ClientAuthenticationMethod,
  settings: OidcSettings,
  secret: string | undefined,
): Promise<oidc.ClientAuth> {
  if (method === 'none') return oidc.None();
  if (secret === undefined) throw new Error(`${method} requires a client secret, but none is stored`);
  switch (method) {
    case 'client_secret_basic':
      return basic(secret);
    case 'client_secret_post':
      return oidc.ClientSecretPost(secret);
    case 'client_secret_jwt':
      return oidc.ClientSecretJwt(secret);
    case 'private_key_jwt':
      return withPrivateKey(settings, secret);
  }
}

/**
 * Returns HTTP Basic authentication with both parts form-encoded (RFC 6749 section 2.3.1). Unlike openid-client, this function does not encode `-`, `_` and
 * `.`, which are common in client IDs, because some providers do not decode the parts.
 */
function basic(secret: string): oidc.ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    headers.set(
      'authorization',
      `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64')}`,
    );
  };
}

type Send = (url: string, options: oidc.CustomFetchOptions) => Promise<Response>;

/**
 * Returns a function that tries HTTP Basic first, and then the secret in the body if the provider supports both methods and rejects Basic. The metadata lists
 * the methods that the provider supports in general, not the method registered for the client. The method that succeeded is used for later requests.
 */
export function withPostInstead(
  {
    token_endpoint: endpoint,
    pushed_authorization_request_endpoint: pushed,
    token_endpoint_auth_methods_supported: methods = DEFAULT_METHODS,
  }: oidc.ServerMetadata,
  { clientId }: OidcSettings,
  secret: string,
  send: Send,
): Send {
  let isByPost = false;
  const byPost = (url: string, options: oidc.CustomFetchOptions) => {
    const { authorization: _, ...headers } = options.headers;
    const body = new URLSearchParams(options.body as URLSearchParams | string);
    body.set('client_id', clientId);
    body.set('client_secret', secret);
    return send(url, { ...options, headers, body });
  };
  return async (url, options) => {
    if (![endpoint, pushed].includes(url) || !methods.includes('client_secret_post')) return send(url, options);
    if (isByPost) return byPost(url, options);
    const answer = await send(url, options);
    if (answer.ok || !(await isUnknownClient(answer))) return answer;
    const second = await byPost(url, options);
    isByPost = second.ok;
    return second.ok ? second : answer;
  };
}

async function isUnknownClient(answer: Response): Promise<boolean> {
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  return (body as { error?: unknown } | undefined)?.error === 'invalid_client';
}

/** Returns the string as application/x-www-form-urlencoded, in UTF-8. */
export function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/** Returns client authentication with private_key_jwt. Providers find the key by its ID or (Microsoft Entra ID, AD FS) by the hash of its certificate. */
async function withPrivateKey(settings: OidcSettings, pem: string): Promise<oidc.ClientAuth> {
  const { ourCertificate, assertionAudience } = settings;
  const key = await importPKCS8(pem, ASSERTION_ALGORITHM);
  const thumbprint = ourCertificate === undefined ? undefined : thumbprintOf(ourCertificate);
  return (server, client, body, headers) => {
    const audience = assertionAudience === 'issuer' ? server.issuer : (server.token_endpoint ?? server.issuer);
    const authenticate = oidc.PrivateKeyJwt(thumbprint === undefined ? key : { key, kid: thumbprint }, {
      [oidc.modifyAssertion]: (header, payload) => {
        payload['aud'] = audience;
        if (thumbprint !== undefined) header['x5t#S256'] = thumbprint;
      },
    });
    return authenticate(server, client, body, headers);
  };
}

/** Returns the x5t#S256 of a certificate (RFC 7517 section 4.9), which is also the key ID. */
export function thumbprintOf(certificate: string): string {
  return createHash('sha256').update(new X509Certificate(certificate).raw).digest('base64url');
}

/** Returns the public key in one of the service's certificates as a JWK Set (RFC 7517 section 5), with the certificate. */
export function ourKeySet(certificate: string): { keys: Record<string, unknown>[] } {
  const { publicKey, raw } = new X509Certificate(certificate);
  const kid = thumbprintOf(certificate);
  const x5c = [raw.toString('base64')];
  const jwk = publicKey.export({ format: 'jwk' });
  return { keys: [{ ...jwk, kid, use: 'sig', alg: ASSERTION_ALGORITHM, x5c, 'x5t#S256': kid }] };
}
