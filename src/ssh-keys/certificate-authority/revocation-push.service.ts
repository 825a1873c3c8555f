import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { HostChanges } from '../../hosts/connections/ssh-connections.service.js';
import { HostFiles } from '../../hosts/connections/host-files.service.js';
import type { ChangeSession, SshSession } from '../../hosts/model/ssh-session.port.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { askSshd } from '../rotation/steps/sshd-settings.js';
import { versionOfList } from './revocation-list.js';
import { entry } from './ssh-authorities.service.js';
import { SshRevocationsService } from './ssh-revocations.service.js';

export interface Pushed {
  readonly hostId: string;
  readonly done: boolean;
  /** RevokedKeys file that the host's sshd is configured to use. */
  readonly path?: string;
  /** SHA-256 of the list now on the host. */
  readonly sha256?: string;
  /** Problem code of the failure. */
  readonly code?: string;
}

/** Checks a list on the host before the list replaces the current one, because sshd rejects every key if the list is unreadable. */
const CHECK = `
umask 077; list=$(mktemp) || exit 1; trap 'rm -f -- "$list"' EXIT HUP INT TERM
cat > "$list" && ssh-keygen -Q -l -f "$list" >/dev/null
`;
const AT_ONCE = 10;
const MAX_TRIES = 8;
/** Paths that `sshd -T` prints unambiguously. sshd prints paths without quotes, so a path with a space is ambiguous. */
const CERTAIN_PATH = /^\/[\x21\x23-\x7e]*[^/"\s]$/;

/** RevocationPush copies revocation lists to hosts. A list is written only to the file that the host's sshd uses as RevokedKeys. */
@Injectable()
export class RevocationPush {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly changes: HostChanges,
    private readonly files: HostFiles,
    private readonly revocations: SshRevocationsService,
  ) {}

  /**
   * Copies the list to the hosts. `path` is the file that the caller expects in sshd's configuration. If the copy fails, the host keeps its current list. The
   * request is audited before a host is contacted, and the outcome afterwards.
   */
  async push(caller: Caller, authorityId: string, hostIds: readonly string[], path?: string): Promise<Pushed[]> {
    await this.revocations.list(authorityId);
    await this.note(caller, 'ssh-ca.list-push-requested', authorityId, { path, hostIds });
    const queue = [...new Set(hostIds)];
    const pushed: Pushed[] = [];
    const worker = async () => {
      for (let hostId = queue.shift(); hostId !== undefined; hostId = queue.shift())
        pushed.push(await this.pushTo(hostId, path, authorityId, caller.origin.requestId));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await this.note(caller, 'ssh-ca.list-pushed', authorityId, { path, hosts: pushed });
    return pushed;
  }

  private note(caller: Caller, action: string, authorityId: string, detail: Record<string, unknown>): Promise<unknown> {
    return this.db.transaction((tx) => this.audit.appendBy(tx, caller, entry(action, authorityId, detail)));
  }

  private async pushTo(
    hostId: string,
    expected: string | undefined,
    authorityId: string,
    correlation: string,
  ): Promise<Pushed> {
    let path: string | undefined;
    try {
      const session = await this.changes.openToChange(hostId, { correlation });
      try {
        path = await listFileOf(session);
        if (expected !== undefined && expected !== path) return { hostId, path, done: false, code: 'ssh-ca.list-path' };
        return { path, ...(await this.put(session, path, authorityId)) };
      } finally {
        session.close();
      }
    } catch (error) {
      return { hostId, path, done: false, code: error instanceof Problem ? error.code : 'internal' };
    }
  }

  /** Writes the list to a host. Generates the list again afterwards, so that a slow push does not leave an outdated list in place. */
  private async put(session: ChangeSession, path: string, authorityId: string): Promise<Pushed> {
    const { hostId } = session;
    const place = { path, as: 'root', mark: newId(), mode: '644' };
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      const list = await this.revocations.list(authorityId);
      const { code } = await session.run(CHECK, { as: 'root', input: list });
      if (code !== 0) return { hostId, done: false, code: 'ssh-ca.list-refused' };
      const before = await this.files.state(session, path, 'root');
      if (before !== undefined && before.sha256 === null) return { hostId, done: false, code: 'ssh-ca.list-path' };
      const isThere = await this.files
        .replace(session, { ...place, content: list, expected: before?.sha256 ?? null })
        .then(() => true, notChanged);
      const isLatest = versionOfList(await this.revocations.list(authorityId)) === versionOfList(list);
      if (isThere && isLatest) return { hostId, done: true, sha256: createHash('sha256').update(list).digest('hex') };
    }
    return { hostId, done: false, code: 'host.file-changed' };
  }
}

/** Returns the RevokedKeys file of the sshd that accepted the login. Throws Problem `ssh-ca.no-list` if no file is configured or sshd could not be queried. */
async function listFileOf(session: SshSession): Promise<string> {
  const { settings } = await askSshd(session, 'root');
  const { confidence, revokedKeys } = settings;
  if (confidence === 'high' && revokedKeys !== undefined && CERTAIN_PATH.test(revokedKeys)) return revokedKeys;
  throw new Problem(
    'conflict',
    'ssh-ca.no-list',
    'sshd on the host has no RevokedKeys file, or its settings could not be queried. Set RevokedKeys in sshd_config first.',
  );
}

/** Returns false if another program changed the file, so that the caller can retry. Rethrows other errors. */
function notChanged(error: unknown): false {
  if (error instanceof Problem && error.code === 'host.file-changed') return false;
  throw error;
}
