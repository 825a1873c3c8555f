import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

interface Account {
  readonly email: string;
  readonly groups: readonly string[];
}

export const CLIENT = { id: 'sealwright', secret: 'a-client-secret-of-the-test-provider' };

/** oidc-provider, a certified OpenID provider, with a sign-in page of its own that believes every name. */
export class OpenIdPeer {
  readonly accounts = new Map<string, Account>();
  private server: Server | undefined;
  issuer = '';

  /** `redirectUri` is our callback. */
  async start(redirectUri: string): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: [redirectUri],
        },
      ],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
      cookies: { keys: ['a key of the test provider'] },
      claims: { openid: ['sub'], email: ['email'], profile: ['groups'] },
      pkce: { required: () => true },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => Promise.resolve({ sub, ...this.accounts.get(sub) }),
      }),
    });
    server.on('request', (request, response) => void provider.callback()(request, response));
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }
}
