import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { EntryRow } from '../../audit/entries/entry-row.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import type { Caller } from '../../access/caller.js';
import type { SigningStatus } from '../signing-request.entity.js';
import { OpenPgpStatement } from './openpgp-statement.entity.js';
import { confirmRead } from '../../platform/database/statements.js';

const WRITTEN = 'signing-key.openpgp-statement';
const ABOUT_REQUEST = ['signing.accepted', 'signing.signed', 'signing.failed'];

/** A statement with the newest request for its signature. `status` is null until a request exists. */
export interface RequestedStatement extends OpenPgpStatement {
  readonly requestId: string | null;
  readonly approvalId: string | null;
  readonly status: SigningStatus | null;
  /** The signature packet; present if the status is SIGNED. */
  readonly signature: Buffer | null;
}

/** Identifies one version of a key. */
interface VersionName {
  readonly keyId: string;
  readonly version: number;
}

/** OpenPgpStatementsRepository reads and writes the OpenPGP statements of keys. */
@Injectable()
export class OpenPgpStatementsRepository {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly vouched: VouchedEntries,
  ) {}

  /** Stores a statement before its signature is requested. */
  async add(caller: Caller, statement: Omit<OpenPgpStatement, 'createdAt'>): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.insert(OpenPgpStatement, statement);
      const target = { kind: 'signing-key', id: statement.keyId };
      await this.audit.appendBy(tx, caller, { action: WRITTEN, target, detail: detailOf(statement) });
    });
  }

  /**
   * If commits are synchronous, waits until a standby has the statements that were read. Call this method before a response that relies on statements of
   * earlier calls.
   */
  confirm(): Promise<void> {
    return confirmRead(this.db);
  }

  /**
   * Returns the statements of a version that were requested and whose requests have not failed, oldest first. The log must confirm each statement and its
   * request, because anyone with write access to the database can insert both rows.
   */
  async requested(version: VersionName): Promise<RequestedStatement[]> {
    const statements = await this.of([version]);
    const ids = statements.flatMap(({ requestId }) => requestId ?? []);
    const written = await this.vouched.about(this.db.manager, [version.keyId], [WRITTEN]);
    const about = await this.vouched.about(this.db.manager, ids, ABOUT_REQUEST);
    return statements.filter((one) => {
      const facts = Object.entries(detailOf(one));
      const isWritten = written.some(({ detail }) => facts.every(([name, value]) => detail[name] === value));
      const own = about.filter(({ targetId }) => targetId === one.requestId);
      return isWritten && isRequested(one, own);
    });
  }

  /** Returns the statements of these versions, oldest first. */
  of(versions: readonly VersionName[]): Promise<RequestedStatement[]> {
    return this.db.query(
      `SELECT s.id, s.key_id AS "keyId", s.key_version AS "keyVersion", s.kind, s.user_id AS "userId", s.expires_at AS "expiresAt",
         s.hashed_part AS "hashedPart", s.algorithm, s.digest, s.created_at AS "createdAt",
         r.id AS "requestId", r.approval_id AS "approvalId", r.status, r.signature
       FROM unnest($1::uuid[], $2::int[]) AS v (key_id, version)
       JOIN openpgp_statement s ON s.key_id = v.key_id AND s.key_version = v.version
       LEFT JOIN LATERAL (
         SELECT q.id, q.approval_id, q.status, q.signature FROM signing_request q JOIN signing_envelope e ON e.request_id = q.id
         WHERE q.digest = s.digest AND q.key_id = s.key_id AND q.key_version = s.key_version AND q.format = 'openpgp'
           AND e.content = s.hashed_part
         ORDER BY q.status = 'SIGNED' DESC, q.id DESC LIMIT 1) r ON true
       ORDER BY s.id`,
      [versions.map(({ keyId }) => keyId), versions.map(({ version }) => version)],
    );
  }
}

/** Returns the logged details of a statement. */
function detailOf({
  keyVersion,
  kind,
  userId,
  expiresAt,
  digest,
}: Omit<OpenPgpStatement, 'createdAt'>): Record<string, unknown> {
  return { keyVersion, kind, userId, expiresAt: expiresAt?.toISOString() ?? null, digest: digest.toString('base64') };
}

/**
 * Reports whether the log entries about a request confirm that the request was accepted for the statement, has not failed, and is signed if the request's row
 * is SIGNED.
 */
function isRequested({ status, digest }: RequestedStatement, about: readonly EntryRow[]): boolean {
  const accepted = about.find(({ action }) => action === 'signing.accepted');
  if (accepted?.detail['digest'] !== digest.toString('base64') || status === 'FAILED') return false;
  const actions = about.map(({ action }) => action);
  return !actions.includes('signing.failed') && (status !== 'SIGNED' || actions.includes('signing.signed'));
}
