import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import {
  certificationOf,
  type RevocationReason,
  revocationOf,
  type SelfStatement,
} from '../../formats/openpgp/certificate.js';
import { isMlDsa } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Clock } from '../../platform/work/clock.js';
import { digestsForOpenPgp } from '../formats/openpgp.format.js';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';
import { keyPurposesFor } from '../keys/signing-key.entity.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { SigningService } from '../requests/signing.service.js';
import { type OpenPgpCertificate, openPgpCertificate } from './openpgp-certificate.js';
import type { OpenPgpStatement } from './openpgp-statement.entity.js';
import { OpenPgpStatementsRepository, type RequestedStatement } from './openpgp-statements.repository.js';

export interface UserIdCertificationOrder {
  readonly userIds: readonly string[];
  /** Expiry of the key; null if it does not expire. */
  readonly expiresAt: Date | null;
}

export interface RevocationOrder {
  readonly reason: RevocationReason;
  readonly text: string;
}

type StatementColumns = Pick<OpenPgpStatement, 'kind' | 'userId' | 'expiresAt'>;

/** OpenPgpCertificatesService issues OpenPGP certificates for signing keys. Each self-signature is a regular signing request and may require approval. */
@Injectable()
export class OpenPgpCertificatesService {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly signing: SigningService,
    private readonly statements: OpenPgpStatementsRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Certifies user IDs and an expiry with the active version of a key. A statement that exists or has been requested is not requested again, so the
   * call can be repeated. Other user IDs are not changed.
   */
  async certify(
    caller: Caller,
    id: string,
    { userIds, expiresAt }: UserIdCertificationOrder,
  ): Promise<OpenPgpCertificate> {
    const key = await this.keyFor(caller, id);
    assertEnd(key, expiresAt, this.clock.now());
    const known = await this.statements.requested(key);
    const first = known.find(({ kind }) => kind === 'certification')?.userId ?? userIds[0];
    for (const userId of userIds) {
      const columns = { kind: 'certification', userId, expiresAt } as const;
      const order = { userId, at: this.clock.now(), expiresAt: expiresAt ?? undefined, primary: userId === first };
      const metadata = { filename: `${key.name}.asc`, purpose: 'OpenPGP certification', userId, expiresAt };
      await this.ask(caller, key, {
        known,
        columns,
        metadata,
        compose: (hash) => certificationOf(key, { ...order, hash }),
      });
    }
    return this.of(key);
  }

  /** Signs a revocation with the active version of a key. A revocation cannot be undone. */
  async revoke(caller: Caller, id: string, { reason, text }: RevocationOrder): Promise<OpenPgpCertificate> {
    const key = await this.keyFor(caller, id);
    const known = await this.statements.requested(key);
    const columns = { kind: 'revocation', userId: null, expiresAt: null } as const;
    const metadata = { filename: `${key.name}.asc`, purpose: 'OpenPGP revocation', reason, text };
    const compose = (hash: FormatDigest) => revocationOf(key, { at: this.clock.now(), reason, text, hash });
    await this.ask(caller, key, { known, columns, metadata, compose });
    return this.of(key);
  }

  /** Returns the certificate of a key's active version. Throws Problem `openpgp.none` if the version has no statements. */
  async get(caller: Caller, id: string): Promise<OpenPgpCertificate> {
    const { version } = await this.keys.get(caller, id);
    const found = await this.of(await this.keys.version(caller, id, version));
    if (found.users.length > 0) return found;
    throw new Problem('missing', 'openpgp.none', `Key "${found.key.name}" has no OpenPGP certificate.`);
  }

  /** Returns the certificates for a page of signing keys, newest key first. Keys without a certificate are omitted. */
  async list(caller: Caller, query: PageQuery): Promise<Page<OpenPgpCertificate>> {
    const { items, nextCursor } = await this.keys.list(caller, query);
    const made = items.filter((key): key is ActiveKey => key.publicKey !== null && !isMlDsa(key.type));
    const statements = await this.statements.of(made);
    const of = (key: ActiveKey) => statements.filter(({ keyId }) => keyId === key.keyId);
    const all = made.map((key) => openPgpCertificate(key, of(key)));
    return { items: all.filter(({ users }) => users.length > 0), nextCursor };
  }

  private async of(key: ActiveKey): Promise<OpenPgpCertificate> {
    return openPgpCertificate(key, await this.statements.of([key]));
  }

  private async keyFor(caller: Caller, id: string): Promise<ActiveKey> {
    const known = await this.keys.get(caller, id);
    this.keys.forget(known);
    const key = await this.keys.active(caller, id, keyPurposesFor('openpgp'));
    if (!isMlDsa(key.type)) return key;
    const detail = `Key "${known.name}" has type ${key.type}, which OpenPGP version 4 does not support. Use an RSA key or a NIST curve.`;
    throw new Problem('conflict', 'openpgp.key-type', detail);
  }

  /**
   * Requests the signature of a statement unless it exists or has been requested. The statement is stored before its signature is requested, so that every
   * signature has a statement, even after a crash.
   */
  private async ask(
    caller: Caller,
    key: ActiveKey,
    order: {
      readonly known: readonly RequestedStatement[];
      readonly columns: StatementColumns;
      readonly metadata: Record<string, unknown>;
      readonly compose: (hash: FormatDigest) => SelfStatement;
    },
  ): Promise<void> {
    const { known, columns, metadata, compose } = order;
    // If several statements have the same subject, the newest is in effect, so an earlier statement with the same content is ignored.
    const newest = known.findLast(({ kind, userId }) => kind === columns.kind && userId === columns.userId);
    if (newest !== undefined && newest.expiresAt?.getTime() === columns.expiresAt?.getTime())
      return this.statements.confirm();
    const [algorithm = 'sha256'] = digestsForOpenPgp(key.type);
    // Never reads the bytes to sign from a stored statement, which anyone with write access to the database can insert.
    const composed = compose(algorithm);
    const row = { ...columns, hashedPart: composed.hashedPart, algorithm, digest: composed.digest };
    await this.statements.add(caller, { id: newId(), keyId: key.keyId, keyVersion: key.version, ...row });
    await this.signing.submit(caller, {
      digest: composed.digest.toString('base64'),
      algorithm,
      key: key.keyId,
      format: 'openpgp',
      content: composed.hashedPart.toString('base64'),
      isStatement: true,
      timestamp: false,
      metadata,
      reference: null,
      background: false,
    });
  }
}

function assertEnd({ madeAt }: ActiveKey, expiresAt: Date | null, now: Date): void {
  if (expiresAt === null || (expiresAt > now && expiresAt > madeAt)) return;
  const errors = [{ pointer: '/expiresAt', detail: 'must be in the future' }];
  throw new Problem('malformed', 'openpgp.end', '/expiresAt: must be in the future.', { errors });
}
