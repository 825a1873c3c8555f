import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import type { RowMarkOrder } from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import type { TokenChanges } from './token-changes.js';
import { writeData } from './token-data.js';
import type { SigningParts } from './token-signer.js';

/** Prefix of a value, followed by the generation of the tables. */
const NAME = 'sealwright rows sealed';
const LABEL = 'sealwright-rows-sealed';
const MAX_ORIGIN_LENGTH = 300;

/**
 * TokenRowMark stores a data object in the token for each generation of sealed tables. The object contains the time since which a deployment rejects rows
 * without a seal. The data object is never destroyed.
 */
export class TokenRowMark {
  private readonly parts: SigningParts;
  private readonly changes: TokenChanges;

  constructor(parts: SigningParts, changes: TokenChanges) {
    this.parts = parts;
    this.changes = changes;
  }

  /** Returns the mark's time in milliseconds since 1970; undefined if there is no mark. If `set` is true, a missing mark is created. */
  mark({ origin, generation, set }: RowMarkOrder): Promise<{ since?: number }> {
    return this.changes.runNext(() => {
      if (origin === '' || origin.length > MAX_ORIGIN_LENGTH || /[\p{C}\s]/u.test(origin))
        throw new KeyProcessFault('refused', 'the origin of a mark must be a single word');
      if (!Number.isSafeInteger(generation) || generation < 1)
        throw new KeyProcessFault('refused', 'the generation of a mark must be an integer of at least 1');
      const version = `${NAME} ${generation}`;
      const since = this.read(version, origin);
      if (since !== undefined || !set) return Promise.resolve(since === undefined ? {} : { since });
      const now = Date.now();
      this.write(`${version}\n${origin}\n${now}\n`);
      return Promise.resolve({ since: now });
    });
  }

  private read(wanted: string, origin: string): number | undefined {
    const { directory } = this.parts;
    for (const object of directory.labelled(CKO.DATA, LABEL)) {
      const [version, its, since] = directory.attribute(object, CKA.VALUE).toString().split('\n');
      if (version === wanted && its === origin && /^\d{1,15}$/.test(since ?? '')) return Number(since);
    }
    return undefined;
  }

  private write(value: string): void {
    writeData(this.parts, LABEL, Buffer.from(value));
  }
}
