import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, In } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { HostFiles } from '../../hosts/connections/host-files.service.js';
import { SshConnections } from '../../hosts/connections/ssh-connections.service.js';
import type { SshSession } from '../../hosts/connections/ssh-session.port.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { readPublicKeyLine, sshPublicKeyOfSpki } from '../../platform/ssh/public-key.js';
import { revocationList, versionOfList } from './revocation-list.js';
import { entry } from './ssh-authorities.service.js';
import { SshAuthority } from './ssh-authority.entity.js';
import { type RevocationKind, SshRevocation } from './ssh-revocation.entity.js';

export interface Pushed {
  readonly hostId: string;
  readonly done: boolean;
  /** Of the list that the host has now. */
  readonly sha256?: string;
  /** Code of the Problem when it was not. */
  readonly code?: string;
}

/** sshd refuses every key when its list is not one: it is looked at where it will be read, before it takes the place of the old one. */
const CHECK = `
umask 077; list=$(mktemp) || exit 1; trap 'rm -f -- "$list"' EXIT HUP INT TERM
cat > "$list" && ssh-keygen -Q -l -f "$list" >/dev/null
`;
const AT_ONCE = 10;
const MOST_TRIES = 8;

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
      await this.audit.appendBy(tx, caller, entry('ssh-ca.revoked', authorityId, { kind, value: canonical, reason }));
    });
  }

  /** The list as sshd reads it. It has room for one, so it takes back what all authorities of this kind take back. */
  async list(authorityId: string): Promise<Buffer> {
    const authority = await this.db.manager.findOneBy(SshAuthority, { id: authorityId });
    if (authority === null) throw missing();
    const all = await this.db.manager.find(SshAuthority, { where: { kind: authority.kind }, order: { id: 'ASC' } });
    const rows = await this.db.manager.findBy(SshRevocation, { authorityId: In(all.map(({ id }) => id)) });
    const of = (kind: RevocationKind, id?: string) =>
      rows.filter((row) => row.kind === kind && row.authorityId === (id ?? row.authorityId)).map(({ value }) => value);
    return revocationList({
      version: BigInt(all.reduce((sum, { listVersion }) => sum + listVersion, 0)),
      generatedAt: new Date(),
      certificates: all.map(({ id, publicKey }) => ({
        authority: sshPublicKeyOfSpki(publicKey).blob,
        serials: of('serial', id).map(BigInt),
        keyIds: of('keyId', id),
      })),
      keys: of('publicKey').flatMap((line) => readPublicKeyLine(line)?.blob ?? []),
    });
  }

  /** Puts the list to these hosts. One that fails keeps the list that it had. */
  async push(caller: Caller, authorityId: string, hostIds: readonly string[], path: string): Promise<Pushed[]> {
    await this.list(authorityId);
    const queue = [...hostIds];
    const pushed: Pushed[] = [];
    const lane = async () => {
      for (let hostId = queue.shift(); hostId !== undefined; hostId = queue.shift())
        pushed.push(await this.pushTo(hostId, path, authorityId, caller.origin.requestId));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    await this.db.transaction((tx) =>
      this.audit.appendBy(tx, caller, entry('ssh-ca.list-pushed', authorityId, { path, hosts: pushed })),
    );
    return pushed;
  }

  private async pushTo(hostId: string, path: string, authorityId: string, correlation: string): Promise<Pushed> {
    try {
      const session = await this.connections.open(hostId, { correlation });
      try {
        return await this.put(session, path, authorityId);
      } finally {
        session.close();
      }
    } catch (error) {
      return { hostId, done: false, code: error instanceof Problem ? error.code : 'internal' };
    }
  }

  /** Whoever writes last looks again: a push that was overtaken must not leave an older list behind. */
  private async put(session: SshSession, path: string, authorityId: string): Promise<Pushed> {
    const { hostId } = session;
    const place = { path, as: 'root', mark: newId(), mode: '644' };
    for (let attempt = 1; attempt <= MOST_TRIES; attempt += 1) {
      const list = await this.list(authorityId);
      const { code } = await session.run(CHECK, { as: 'root', input: list });
      if (code !== 0) return { hostId, done: false, code: 'ssh-ca.list-refused' };
      const before = await this.files.state(session, path, 'root');
      const isThere = await this.files
        .replace(session, { ...place, content: list, expected: before?.sha256 ?? null })
        .then(() => true, notChanged);
      const isLatest = versionOfList(await this.list(authorityId)) === versionOfList(list);
      if (isThere && isLatest) return { hostId, done: true, sha256: createHash('sha256').update(list).digest('hex') };
    }
    return { hostId, done: false, code: 'host.file-changed' };
  }
}

/** False when it was changed by somebody else, so that it can be tried again. Throws everything else. */
function notChanged(error: unknown): false {
  if (error instanceof Problem && error.code === 'host.file-changed') return false;
  throw error;
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
