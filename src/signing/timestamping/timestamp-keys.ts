import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { assertIncludesKey, EVERY_KEY } from '../../access/key-patterns.js';
import type { KeyType } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/work/clock.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';
import { isRsa } from '../formats/signature-format.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import type { Stamper } from './timestamp-writer.js';
import { HealthIndicators, type Indication } from '../../platform/observability/health-indicators.js';

/** The digest that matches the strength of each curve (RFC 5753 section 7.1.4). RSA uses SHA-256. */
const DIGEST_OF: Partial<Record<KeyType, FormatDigest>> = { 'ec-p384': 'sha384', 'ec-p521': 'sha512' };

/** TimestampKeys provides the key and the certificate that sign timestamps. */
@Injectable()
export class TimestampKeys {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly certificates: CertificatesReader,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Returns the key and the certificate chain. Throws Problem `tsa.none` if no key is configured, `certificate.expired`, or the Problems of the key. */
  async current(): Promise<{ key: ActiveKey; stamper: Stamper }> {
    const key = await this.key();
    const certificate = key.certificateId === null ? undefined : await this.certificates.get(key.certificateId);
    if (certificate === undefined) throw notSetUp(`Key "${key.name}" has no certificate yet. Import a certificate.`);
    if (this.clock.now() >= certificate.notAfter)
      throw new Problem(
        'conflict',
        'certificate.expired',
        'The certificate of the timestamp authority has expired. Import a renewed certificate.',
      );
    const scheme = isRsa(key.type) ? 'rsa-pkcs1v15' : 'ecdsa-der';
    return { key, stamper: { scheme, algorithm: DIGEST_OF[key.type] ?? 'sha256', chain: certificate.chain } };
  }

  /**
   * Rejects a credential that is limited to other keys. A workload needs only the scope, because the key limits of its trust do not apply to timestamps.
   *
   * @throws Problem `credential.key`
   */
  async assertUsableBy(caller: Caller): Promise<void> {
    if (caller.kind === 'workload' || caller.keys === undefined) return;
    const { tsaKey } = this.config;
    assertIncludesKey(caller, isId(tsaKey) ? (await this.keys.known(EVERY_KEY, tsaKey)).name : tsaKey);
  }

  private async key(): Promise<ActiveKey> {
    try {
      return await this.keys.active(EVERY_KEY, this.config.tsaKey, ['timestamping']);
    } catch (error) {
      if (error instanceof Problem && error.code === 'signing-key.unknown')
        throw notSetUp(`No timestamping key is named "${this.config.tsaKey}".`);
      throw error;
    }
  }
}

function notSetUp(detail: string): Problem {
  return new Problem('conflict', 'tsa.none', `The timestamp authority is not configured. ${detail}`);
}

/** TimestampingHealth reports whether the service's own timestamp authority can issue timestamps. */
@Injectable()
export class TimestampingHealth {
  constructor(
    private readonly keys: TimestampKeys,
    indicators: HealthIndicators,
  ) {
    indicators.add('tsa', () => this.read());
  }

  private async read(): Promise<Indication> {
    try {
      const { key } = await this.keys.current();
      return { status: 'UP', detail: `issuing with key "${key.name}"` };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { status: error.code === 'tsa.none' ? 'UNKNOWN' : 'DOWN', detail: error.message };
    }
  }
}
