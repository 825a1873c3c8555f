import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { KeyVault } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { oid } from '../../formats/asn1/der-writer.js';
import { type ActiveKey, vaultKeyOf } from '../keys/signing-key.reader.js';
import { ClockGuard } from './clock-guard.js';
import { TimestampKeys } from './timestamp-keys.js';
import { type TimestampRequester, type TimestampIntent, TimestampRepository } from './timestamp.repository.js';
import { type TimestampQuery, TimestampRefusal } from './timestamp-query.js';
import { type Stamper, timestampAttributes, timestampInfo, timestampToken } from './timestamp-writer.js';

/**
 * TimestampAuthority issues timestamp tokens (RFC 3161). The row of a token is committed before the HSM is called, and its outcome before the token
 * is returned.
 */
@Injectable()
export class TimestampAuthority {
  constructor(
    private readonly keys: TimestampKeys,
    private readonly repository: TimestampRepository,
    private readonly vault: KeyVault,
    private readonly guard: ClockGuard,
    private readonly config: Config,
  ) {}

  /**
   * Returns a TimeStampToken, DER.
   *
   * @param requestId the signing request whose signature is timestamped, if any
   * @throws TimestampRefusal unacceptedPolicy, timeNotAvailable; Problem of the HSM, or if no authority is configured
   */
  async stamp(query: TimestampQuery, requester: TimestampRequester, requestId: string | null = null): Promise<Buffer> {
    const { tsaPolicy: policy, tsaAccuracySeconds: accuracySeconds } = this.config;
    if (query.policy?.equals(oid(policy)) === false)
      throw new TimestampRefusal(
        'unacceptedPolicy',
        `The requested policy is not supported. The only policy is ${policy}.`,
      );
    const { key, stamper } = await this.keys.current();
    const at = this.guard.now();
    const genTime = wholeSeconds(at);
    const id = newId();
    const serialNumber = Buffer.from(id.replaceAll('-', ''), 'hex');
    const info = timestampInfo({ ...query, policy, serialNumber, at: genTime, accuracySeconds });
    const attributes = timestampAttributes(info, stamper);
    const signedDigest = createHash(stamper.algorithm).update(attributes).digest();
    const { digest, algorithm } = query;
    const place = { id, keyId: key.keyId, keyVersion: key.version, requestId, requester };
    const intent = { ...place, digest, algorithm, genTime, signedDigest };
    const signature = await this.signed(intent, { key, stamper, at });
    return timestampToken(info, attributes, signature, { stamper, certificates: query.certificates });
  }

  /** Signs a token, after the commit of the intent and before the commit of the outcome. */
  private async signed(
    intent: TimestampIntent,
    { key, stamper, at }: { key: ActiveKey; stamper: Stamper; at: Date },
  ): Promise<Buffer> {
    const { scheme, algorithm } = stamper;
    const shown = await this.repository.intend(intent);
    let signature: Buffer;
    try {
      this.guard.assertAgrees(shown, at);
      signature = await this.vault.sign({
        key: vaultKeyOf(key, 'timestamping'),
        scheme,
        algorithm,
        digest: intent.signedDigest,
      });
    } catch (error) {
      await this.repository.settle(intent, { signature: null, failureCode: codeOf(error) });
      throw error;
    }
    if (await this.repository.settle(intent, { signature, failureCode: null })) return signature;
    throw new Problem('unavailable', 'timestamp.late', 'Timestamp issuance timed out and was cancelled. Retry.');
  }
}

/** Truncates the time to whole seconds, as in a token. */
function wholeSeconds(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 1000) * 1000);
}

function codeOf(error: unknown): string {
  if (error instanceof TimestampRefusal) return `timestamp.${error.failure}`;
  return error instanceof Problem ? error.code : 'timestamp.internal';
}
