import { randomUUID } from 'node:crypto';
import type { FoundSshKey, SshKeysFound } from '../../src/platform/queue/inbox-messages.js';
import { until } from './signing.js';
import type { Stage } from './stage.js';

/** Sends keys to the inbox as a scan does, and waits until a worker has processed the keys. */
export async function handOverKeys(stage: Stage, found: SshKeysFound): Promise<void> {
  const id = randomUUID();
  await stage.sql(`INSERT INTO handover (id, topic, body) VALUES ($1, 'ssh-keys.found', $2)`, [id, found]);
  const isTaken = async () => (await stage.sql('SELECT id FROM handover WHERE id = $1', [id])).length === 0;
  await until('the keys to be taken', 20, isTaken);
}

/** Fills in the missing members of a found key with defaults. */
export function foundKey(part: Partial<FoundSshKey> & Pick<FoundSshKey, 'fingerprint' | 'account'>): FoundSshKey {
  return {
    kind: 'authorized-key',
    uid: 1000,
    path: `/home/${part.account}/.ssh/authorized_keys`,
    line: 1,
    publicKey: null,
    type: 'ssh-ed25519',
    bits: 256,
    comment: null,
    options: null,
    passphrase: null,
    modifiedAt: null,
    ...part,
  };
}
