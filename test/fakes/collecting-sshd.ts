import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';

/** An SSH server that harvests passwords: it accepts every login and records the secrets sent. */
export interface CollectingSshd {
  readonly port: number;
  /** `METHOD USER SECRET`; for a password login, the secret is the password. */
  readonly said: string[];
  close(): Promise<void>;
}

export async function startCollectingSshd(address: string): Promise<CollectingSshd> {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const said: string[] = [];
  const server = new ssh2.Server({ hostKeys: [privateKey] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (context) => {
      said.push(
        `${context.method} ${context.username} ${context.method === 'password' ? context.password : ''}`.trim(),
      );
      context.accept();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    said,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
