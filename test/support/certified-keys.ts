import { setTimeout as sleep } from 'node:timers/promises';
import type { Authority } from './authority.js';
import type { Service } from './service.js';
import type { PublishedKey } from './signing.js';

export interface KeyOrder {
  readonly name: string;
  readonly type: string;
  readonly purpose?: string;
}

/** Generates a key, has the authority issue a certificate for the key's certification request, and imports the chain. */
export async function certifiedKey(
  service: Service,
  apiKey: string,
  authority: Authority,
  order: KeyOrder,
): Promise<PublishedKey> {
  const post = async (path: string, body: unknown) => {
    const call = () => service.call('POST', `/api/v1/signing-keys${path}`, { key: apiKey, body });
    let answer = await call();
    // Generating several keys on a busy machine may overload the HSM. The call is then repeated.
    for (let i = 0; i < 5 && answer.status === 503; i += 1) {
      await sleep(1000);
      answer = await call();
    }
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const key = await post('', order);
  const { csr } = await post(`/${key.id}/csr`, { subject: { commonName: order.name, organization: 'Example Ltd' } });
  await post(`/${key.id}/certificate`, { chain: authority.issue(csr).chain });
  return key;
}
