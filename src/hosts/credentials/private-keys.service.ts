import { Injectable } from '@nestjs/common';
import { Problem } from '../../platform/errors/problem.js';
import { BoundedThreads, ThreadEnded } from '../../platform/work/bounded-thread.js';
import type { PrivateKeyFaultReason } from './private-key-fault.js';
import type { UsableKey } from './private-key-reader.js';
import type { PrivateKeyOrder, PrivateKeyReply } from './private-key-thread.js';

/** Maximum number of concurrent threads. Each thread uses one core, and up to 256 MiB for Argon2. */
const MAX_THREADS = 2;
/** Time limit per key. The most expensive key within the limits takes a few seconds on a slow machine. */
const DEADLINE_MS = 30_000;
const HEAP_MB = 128;

const CODES: Readonly<Record<PrivateKeyFaultReason, string>> = {
  unreadable: 'host.private-key-unreadable',
  unsupported: 'host.private-key-unsupported',
  'too-costly': 'host.private-key-too-costly',
  'passphrase-missing': 'host.passphrase-missing',
  'passphrase-wrong': 'host.passphrase-wrong',
};

interface PrivateKeyText extends PrivateKeyOrder {
  /** JSON pointer to the body member that contains privateKey and passphrase. */
  readonly pointer: string;
  /** ID of the caller. Callers are served in turn. */
  readonly caller: string;
}

/** PrivateKeys reads private keys in threads, because the file determines the cost of the key derivation, which would block the event loop. */
@Injectable()
export class PrivateKeys {
  private readonly threads = new BoundedThreads(MAX_THREADS);

  /** Reads a private key. Throws Problem with one of the codes above. */
  async read({ text, passphrase, pointer, caller }: PrivateKeyText): Promise<UsableKey> {
    const reply = await this.replyTo({ text, passphrase }, caller);
    if ('fault' in reply) throw problemOf(reply.fault.reason, reply.fault.message, pointer);
    const { publicKey, privateKey } = reply.key;
    return { publicKey: { type: publicKey.type, blob: Buffer.from(publicKey.blob) }, privateKey };
  }

  private async replyTo(input: PrivateKeyOrder, caller: string): Promise<PrivateKeyReply> {
    const file = new URL('./private-key-thread.js', import.meta.url);
    try {
      const limits = { deadlineMs: DEADLINE_MS, heapMb: HEAP_MB };
      return await this.threads.run({ file, name: 'private-key', caller, input, ...limits });
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error;
      const message = error.why === 'deadline' ? 'takes too long to decrypt' : 'cannot be parsed';
      return { fault: { reason: error.why === 'deadline' ? 'too-costly' : 'unreadable', message } };
    }
  }
}

function problemOf(reason: PrivateKeyFaultReason, detail: string, parent: string): Problem {
  const pointer = `${parent}/${reason.startsWith('passphrase') ? 'passphrase' : 'privateKey'}`;
  return new Problem('malformed', CODES[reason], `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
