import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CKO } from '../../formats/pkcs/cryptoki.js';
import { signEcdsa } from './ec-signer.js';
import { generationPlan } from './key-templates.js';
import type { TokenKey } from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import type { Handle } from './pkcs11-token.js';
import { publicKeyInfoOf } from './key-directory.js';
import type { SigningParts } from './token-signer.js';

const LABEL = 'sealwright-canary';
const CKA_ID = Buffer.from(LABEL);
const KEY: TokenKey = { ckaId: CKA_ID, labels: [LABEL] };
const TYPE = 'ec-p256';
/** Pause before a second search. Without the second search, processes that start together on a new token would each create a canary key. */
const CREATION_PAUSE_MS = 150;

interface Pair {
  readonly privateKey: Handle;
  readonly publicKey: Buffer;
}

/**
 * Canary is a key that signs only random digests, to detect whether the token still works. Checking the session state is not sufficient, because a session
 * remains valid after the token has been removed.
 */
export class Canary {
  private readonly parts: SigningParts;
  private pair?: Pair;

  constructor(parts: SigningParts) {
    this.parts = parts;
  }

  /** Finds or creates a working canary key. The token may contain several canary keys if processes started together, and half of a key pair after a crash. */
  async prepare(): Promise<void> {
    this.pair = await this.workingPair();
    if (this.pair) return;
    await sleep(CREATION_PAUSE_MS * Math.random());
    this.pair = (await this.workingPair()) ?? (await this.create());
  }

  /** Signs with the canary key to check that the token works. Throws the error of the token, or a fatal KeyProcessFault. */
  async probe(): Promise<void> {
    if (!(await this.works(this.presentPair()))) {
      throw new KeyProcessFault('wrong-signature', 'a signature of the canary key did not verify', true);
    }
  }

  /** Checks that the token still contains its objects: a token that was removed or replaced finds nothing, without an error. Throws like `probe`. */
  assertPresent(): void {
    this.presentPair();
  }

  private presentPair(): Pair {
    const { token, directory } = this.parts;
    token.assertPresent();
    if (this.pair === undefined || directory.all(CKO.PRIVATE_KEY, KEY).length === 0)
      throw new KeyProcessFault('unavailable', 'the token no longer contains its canary key', true);
    return this.pair;
  }

  private async workingPair(): Promise<Pair | undefined> {
    const { directory } = this.parts;
    const publicKeys = directory.all(CKO.PUBLIC_KEY, KEY).map((object) => publicKeyInfoOf(directory, object, TYPE));
    for (const privateKey of directory.all(CKO.PRIVATE_KEY, KEY)) {
      for (const publicKey of publicKeys) {
        if (await this.works({ privateKey, publicKey })) return { privateKey, publicKey };
      }
    }
    return undefined;
  }

  private async create(): Promise<Pair> {
    const { token, directory, pool, limitMs } = this.parts;
    const plan = generationPlan({ ckaId: CKA_ID, label: LABEL, type: TYPE, rawRsa: false });
    const session = token.openSession(true);
    directory.noteCreation();
    try {
      const made = await pool.use(limitMs, () =>
        token.generateKeyPair(session, plan.mechanism, plan.publicKey, plan.privateKey),
      );
      return { privateKey: made.privateKey, publicKey: publicKeyInfoOf(directory, made.publicKey, TYPE) };
    } finally {
      token.closeSession(session);
    }
  }

  private async works({ privateKey, publicKey }: Pair): Promise<boolean> {
    const { token, pool, limitMs } = this.parts;
    const order = { handle: privateKey, publicKey, curve: TYPE, digest: randomBytes(32) } as const;
    return (await pool.use(limitMs, (session) => signEcdsa(token, session, order))) !== undefined;
  }
}
