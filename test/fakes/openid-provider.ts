import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

interface Account {
  readonly email: string;
  readonly groups: readonly string[];
}

export const CLIENT = { id: 'sealwright', secret: 'a-client-secret-of-the-test-provider' };

/** oidc-provider, a certified OpenID provider, with a sign-in page that accepts any name. */
export class OpenIdPeer {
  readonly accounts = new Map<string, Account>();
  private server: Server | undefined;
  private key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'] | undefined;
  issuer = '';

  /**
   * @param redirectUri callback URL of the service
   * @param host 127.0.0.1, or localhost to be a different site than the service
   */
  async start(redirectUri: string, host = '127.0.0.1'): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.key = privateKey;
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    this.server = server;
    this.issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [`${new URL(redirectUri).origin}/`],
          backchannel_logout_uri: new URL('/api/auth/oidc/backchannel-logout', redirectUri).href,
          backchannel_logout_session_required: true,
        },
      ],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
      cookies: { keys: ['a key of the test provider'] },
      claims: { openid: ['sub'], email: ['email'], profile: ['groups'] },
      features: { backchannelLogout: { enabled: true } },
      // The default dispatcher of oidc-provider refuses local addresses.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
      pkce: { required: () => true },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => Promise.resolve({ sub, ...this.accounts.get(sub) }),
      }),
    });
    server.on('request', (request, response) => void provider.callback()(request, response));
  }

  /** Signs arbitrary claims with the provider's key, for tokens with a single fault. */
  sign(claims: JWTPayload, typ = 'logout+jwt'): Promise<string> {
    if (this.key === undefined) throw new Error('it was not started');
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one', typ }).sign(this.key);
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }
}
