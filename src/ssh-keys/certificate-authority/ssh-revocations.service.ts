import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { publicKeyFault, readPublicKeyLine, sshPublicKeyOfSpki } from '../../formats/ssh/public-key.js';
import { revocationList } from './revocation-list.js';
import { entry } from './ssh-authorities.service.js';
import type { CertificateKind } from './ssh-certificate.js';
import { type RevocationKind, SshAuthority, SshRevocation } from './ssh-authority.entity.js';

/** Revocations of an authority, and the revocation lists (KRL) for hosts. */
@Injectable()
export class SshRevocationsService {
  /** The last list of each kind: anybody may ask for it, and it changes with revocations alone. */
  private readonly lists = new Map<CertificateKind, { readonly version: bigint; readonly list: Buffer }>();

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {}

  async revoke(
    caller: Caller,
    authorityId: string,
    kind: RevocationKind,
    value: string,
    reason?: string,
  ): Promise<void> {
    const canonical = kind === 'publicKey' ? lineOf(value) : value;
    await this.db.transaction(async (tx) => {
      const [, found]: [unknown, number] = await tx.query(
        `UPDATE ssh_authority SET list_version = list_version + 1 WHERE id = $1`,
        [authorityId],
      );
      if (found !== 1) throw missing();
      await tx.query(
        `INSERT INTO ssh_revocation (id, authority_id, kind, value, reason) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        [newId(), authorityId, kind, canonical, reason ?? null],
      );
      await this.audit.appendBy(tx, caller, entry('ssh-ca.revoked', authorityId, { kind, value: canonical, reason }));
    });
  }

  /** The list as sshd reads it. sshd takes one list only, so it contains the revocations of all authorities of this kind. */
  async list(authorityId: string): Promise<Buffer> {
    const authority = await this.db.manager.findOneBy(SshAuthority, { id: authorityId });
    if (authority === null) throw missing();
    return this.listOfKind(authority.kind);
  }

  /** The list of all authorities of a kind. Without an authority it is empty, and sshd accepts it. */
  async listOfKind(kind: CertificateKind): Promise<Buffer> {
    const all = await this.db.manager.find(SshAuthority, { where: { kind }, order: { id: 'ASC' } });
    const version = BigInt(all.reduce((sum, { listVersion }) => sum + listVersion, 0));
    const last = this.lists.get(kind);
    if (last?.version === version) return last.list;
    const list = await this.listOf(all, version);
    this.lists.set(kind, { version, list });
    return list;
  }

  private async listOf(all: readonly SshAuthority[], version: bigint): Promise<Buffer> {
    const rows = await this.db.manager.findBy(SshRevocation, { authorityId: In(all.map(({ id }) => id)) });
    const of = (kind: RevocationKind, id?: string) =>
      rows.filter((row) => row.kind === kind && row.authorityId === (id ?? row.authorityId)).map(({ value }) => value);
    return revocationList({
      version,
      generatedAt: new Date(),
      certificates: all.map(({ id, publicKey }) => ({
        authority: sshPublicKeyOfSpki(publicKey).blob,
        serials: of('serial', id).map(BigInt),
        keyIds: of('keyId', id),
      })),
      keys: of('publicKey').flatMap((line) => readPublicKeyLine(line)?.blob ?? []),
    });
  }
}

function lineOf(publicKey: string): string {
  const key = readPublicKeyLine(publicKey);
  if (key !== undefined) return `${key.type} ${key.blob.toString('base64')}`;
  const detail = publicKeyFault(publicKey);
  const errors = [{ pointer: '/value', detail }];
  throw new Problem('malformed', 'ssh-key.unreadable', `/value: ${detail}.`, { errors });
}

function missing(): Problem {
  return new Problem('missing', 'ssh-ca.missing', 'There is no SSH authority with this id.');
}
