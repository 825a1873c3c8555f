import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FoundSshKey, SshKeysFound } from '../../src/platform/events/ssh-key-events.js';
import type { Stage } from './stage.js';

/** Lets the service hear of keys as a scan tells it. */
export async function emitFound(stage: Stage, found: SshKeysFound): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'emit-event.mjs'), 'discovery.ssh-keys-found'], {
    env: { ...process.env, ...stage.settings, SVC_ROLE: 'api' },
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.end(JSON.stringify(found));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`the event was not emitted: ${code}`);
}

/** A found key; what a test does not care about is filled in. */
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
