import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';

/** An SSH server of somebody who wants to have passwords: it lets everybody in and keeps what they say. */
export interface CollectingSshd {
  readonly port: number;
  /** `METHOD USER SECRET`; the secret is what a password login sent. */
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
