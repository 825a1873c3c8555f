import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { HostFiles } from '../../hosts/connections/host-files.service.js';
import { SshConnections } from '../../hosts/connections/ssh-connections.service.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { readPublicKeyLine, sshPublicKeyOfSpki } from '../../platform/ssh/public-key.js';
import { revocationList } from './revocation-list.js';
import { entry } from './ssh-authorities.service.js';
import { SshAuthority } from './ssh-authority.entity.js';
import { type RevocationKind, SshRevocation } from './ssh-revocation.entity.js';

export interface Pushed {
  readonly hostId: string;
  readonly done: boolean;
  /** Code of the Problem when it was not. */
  readonly code?: string;
}

/** sshd refuses every key when its list is not one: it is looked at where it will be read, before it takes the place of the old one. */
const CHECK = `
umask 077; list=$(mktemp) || exit 1; trap 'rm -f -- "$list"' EXIT HUP INT TERM
cat > "$list" && ssh-keygen -Q -l -f "$list" >/dev/null
`;
const AT_ONCE = 10;

/** What an authority takes back, and the lists that tell hosts so. */
@Injectable()
export class SshRevocationsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly connections: SshConnections,
    private readonly files: HostFiles,
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
      await this.audit.append(tx, [entry('ssh-ca.revoked', caller, authorityId, { kind, value: canonical, reason })]);
    });
  }

  /** The list as sshd reads it. */
  async list(authorityId: string): Promise<Buffer> {
    const authority = await this.db.manager.findOneBy(SshAuthority, { id: authorityId });
    if (authority === null) throw missing();
    const rows = await this.db.manager.findBy(SshRevocation, { authorityId });
    const of = (kind: RevocationKind) => rows.filter((row) => row.kind === kind).map(({ value }) => value);
    return revocationList({
      authority: sshPublicKeyOfSpki(authority.publicKey).blob,
      version: BigInt(authority.listVersion),
      generatedAt: new Date(),
      serials: of('serial').map(BigInt),
      keyIds: of('keyId'),
      keys: of('publicKey').flatMap((line) => readPublicKeyLine(line)?.blob ?? []),
    });
  }

  /** Puts the list to these hosts. One that fails keeps the list that it had. */
  async push(caller: Caller, authorityId: string, hostIds: readonly string[], path: string): Promise<Pushed[]> {
    const list = await this.list(authorityId);
    const queue = [...hostIds];
    const pushed: Pushed[] = [];
    const lane = async () => {
      for (let hostId = queue.shift(); hostId !== undefined; hostId = queue.shift())
        pushed.push(await this.pushTo(hostId, path, list, caller.origin.requestId));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    const sha256 = createHash('sha256').update(list).digest('hex');
    await this.db.transaction((tx) =>
      this.audit.append(tx, [entry('ssh-ca.list-pushed', caller, authorityId, { path, sha256, hosts: pushed })]),
    );
    return pushed;
  }

  private async pushTo(hostId: string, path: string, list: Buffer, correlation: string): Promise<Pushed> {
    try {
      const session = await this.connections.open(hostId, { correlation });
      try {
        const { code } = await session.run(CHECK, { as: 'root', input: list });
        if (code !== 0) return { hostId, done: false, code: 'ssh-ca.list-refused' };
        const before = await this.files.state(session, path, 'root');
        const expected = before?.sha256 ?? null;
        await this.files.replace(session, { path, content: list, expected, as: 'root', mark: hostId, mode: '644' });
        return { hostId, done: true };
      } finally {
        session.close();
      }
    } catch (error) {
      return { hostId, done: false, code: error instanceof Problem ? error.code : 'internal' };
    }
  }
}

function lineOf(publicKey: string): string {
  const key = readPublicKeyLine(publicKey);
  if (key !== undefined) return `${key.type} ${key.blob.toString('base64')}`;
  const errors = [{ pointer: '/value', detail: 'is no public key of the form TYPE BASE64' }];
  throw new Problem('malformed', 'ssh-key.unreadable', '/value: is no public key of the form TYPE BASE64.', { errors });
}

function missing(): Problem {
  return new Problem('missing', 'ssh-ca.missing', 'There is no SSH authority with this id.');
}
