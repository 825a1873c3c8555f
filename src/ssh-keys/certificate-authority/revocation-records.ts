import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type LoggedRevocation, revocationName } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { readPublicKeyLine, sshFingerprintOf } from '../../formats/ssh/public-key.js';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import type { RevocationKind, SshRevocation } from './ssh-authority.entity.js';
import type { SshCertificate } from './ssh-certificate.entity.js';

/** RevocationRecord identifies a revoked certificate or key of an authority. */
export type RevocationRecord = Pick<SshRevocation, 'authorityId' | 'kind' | 'value'>;

/** Revocations according to the database rows and according to the audit log. */
interface ReadRevocations {
  readonly rows: readonly RevocationRecord[];
  readonly logged: readonly RevocationRecord[];
  /** IDs of authorities that have log entries from earlier versions, which do not name the revoked value. */
  readonly unnamed: ReadonlySet<string>;
}

/**
 * RevocationRecords reads revocations from the audit log. Therefore, deleting or modifying a row directly in the database, or suppressing the row with a
 * trigger, does not undo a revocation, and inserting a row does not revoke anything. While the log is incomplete, rows are also read: the entry of a genuine
 * revocation may be missing, and a missing revocation would restore access, whereas an inserted row only denies access.
 */
@Injectable()
export class RevocationRecords {
  /** Cached by list version. A new version is read immediately. An unchanged version is read again after a few seconds. */
  private readonly records = new TtlCache<ReadRevocations>(() => this.read());

  private readonly remembered = new Map<string, RevocationRecord>();

  constructor(
    private readonly db: DataSource,
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
  ) {}

  /** Returns all revocations. A revocation that this process has read persists even if its row and its audit entry are removed. */
  async all(): Promise<readonly RevocationRecord[]> {
    const [row]: { version: string }[] = await this.db.query('SELECT sum(list_version) AS version FROM ssh_authority');
    const read = await this.records.find(row?.version ?? '');
    this.remember(read?.logged ?? []);
    const known = this.ledger.known();
    this.remember(known?.sshRevocations.values() ?? []);
    const isComplete = known !== undefined && this.ledger.fault === undefined;
    const rows = (read?.rows ?? []).filter(({ authorityId }) => !isComplete || read?.unnamed.has(authorityId) === true);
    const extra = rows.filter((one) => !this.remembered.has(revocationName(one)));
    return [...this.remembered.values(), ...extra];
  }

  /**
   * Like `all`, but first reads the entire signed log, so that a process that has just started detects a hidden entry.
   *
   * @throws the same problems as RightsLedger.latest
   */
  async allLogged(): Promise<readonly RevocationRecord[]> {
    this.remember((await this.ledger.latest()).sshRevocations.values());
    return this.all();
  }

  private remember(records: Iterable<LoggedRevocation>): void {
    for (const one of records) this.remembered.set(revocationName(one), one as RevocationRecord);
  }

  /**
   * Returns the IDs of the certificates that are revoked. All certificates must be issued by the same authority. A revoked key is revoked for all authorities
   * of the same kind (`siblings`).
   *
   * @param isComplete whether to read the entire signed log first, which can throw the problems of `allLogged`
   */
  async revokedOf(
    authorityId: string,
    siblings: ReadonlySet<string>,
    certificates: readonly Pick<SshCertificate, 'id' | 'serial' | 'keyId' | 'fingerprint'>[],
    isComplete = false,
  ): Promise<Set<string>> {
    if (certificates.length === 0) return new Set();
    const records = await (isComplete ? this.allLogged() : this.all());
    const own = new Set(
      records.flatMap((one) => (one.authorityId === authorityId ? [`${one.kind} ${one.value}`] : [])),
    );
    const keys = new Set(
      records.flatMap((one) => (one.kind === 'publicKey' && siblings.has(one.authorityId) ? fingerprintOf(one) : [])),
    );
    const isRevoked = ({ serial, keyId, fingerprint }: Pick<SshCertificate, 'serial' | 'keyId' | 'fingerprint'>) =>
      own.has(`serial ${serial}`) || own.has(`keyId ${keyId}`) || keys.has(fingerprint);
    return new Set(certificates.filter(isRevoked).map(({ id }) => id));
  }

  private async read(): Promise<ReadRevocations> {
    const { manager } = this.db;
    const rows: RevocationRecord[] = await manager.query(
      'SELECT authority_id AS "authorityId", kind, value FROM ssh_revocation',
    );
    const entries = await this.vouched.ofAction(manager, 'ssh-ca.revoked');
    const logged = entries.flatMap(({ targetId: authorityId, detail: { kind, value } }): RevocationRecord[] =>
      typeof value === 'string' ? [{ authorityId, kind: kind as RevocationKind, value }] : [],
    );
    const unnamed = entries.flatMap(({ targetId, detail: { value } }) => (typeof value === 'string' ? [] : [targetId]));
    return { rows, logged, unnamed: new Set(unnamed) };
  }
}

function fingerprintOf({ value }: RevocationRecord): string[] {
  const key = readPublicKeyLine(value);
  return key === undefined ? [] : [sshFingerprintOf(key.blob)];
}
