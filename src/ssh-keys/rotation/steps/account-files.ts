import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { HostFiles } from '../../../hosts/connections/host-files.service.js';
import type { ChangeSession, SshSession } from '../../../hosts/model/ssh-session.port.js';
import { Problem } from '../../../platform/errors/problem.js';
import {
  type EditedFile,
  type KeyReplacement,
  type LineStanding,
  type LineStandings,
  standingsOf,
} from '../key-lines/key-replacement.js';
import { RotationRepository } from '../model/rotation.repository.js';
import type { TargetFile } from '../model/rotation-target.entity.js';
import { type ReadyWork, replacementOf } from '../model/rotation-work.js';

/** WrittenFile is a file that was written, with the SHA-256 hashes of its content before and after. */
export interface WrittenFile {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

type Edit = (file: Buffer, replacement: KeyReplacement, as: TargetFile) => EditedFile;

/** Maximum number of attempts to replace a file that another program is writing to. */
const MAX_TRIES = 8;

/** AccountFiles reads the state of both keys in the authorized_keys files of one target, and changes their lines. */
@Injectable()
export class AccountFiles {
  constructor(
    private readonly files: HostFiles,
    private readonly repository: RotationRepository,
  ) {}

  /** Returns the state of both keys across all files. */
  async standings(session: SshSession, work: ReadyWork): Promise<LineStandings> {
    const all = await Promise.all(
      filesOf(work).map(async (file) => {
        const content = await this.files.read(session, file.path, { as: file.as });
        return standingsOf(content ?? Buffer.alloc(0), replacementOf(work, file));
      }),
    );
    return { old: together(all.map(({ old }) => old)), next: together(all.map(({ next }) => next)) };
  }

  /**
   * Applies `edit` to every file. Files that `edit` leaves unchanged are not written, so the call can be repeated. Lines added by other programs are preserved,
   * because a file that has changed since it was read is read again.
   */
  async change(session: ChangeSession, work: ReadyWork, edit: Edit): Promise<WrittenFile[]> {
    const written: WrittenFile[] = [];
    for (const file of filesOf(work)) {
      const change = await this.changeOne(session, work, file, edit);
      if (change !== undefined) written.push(change);
    }
    return written;
  }

  private async changeOne(
    session: ChangeSession,
    work: ReadyWork,
    file: TargetFile,
    edit: Edit,
  ): Promise<WrittenFile | undefined> {
    const { path, as } = file;
    const mark = work.target.id;
    for (let attempt = 1; ; attempt += 1) {
      const content = await this.files.read(session, path, { as });
      if (content === undefined) return undefined;
      const { bytes, diff } = edit(content, replacementOf(work, file), file);
      if (diff === '') {
        await this.files.tidy(session, { path, as, mark });
        return undefined;
      }
      const before = hash('sha256', content, 'hex');
      await this.repository.assertStillMine(work);
      try {
        await this.files.replace(session, { path, content: bytes, expected: before, as, mark });
        return { path, before, after: hash('sha256', bytes, 'hex') };
      } catch (error) {
        const changed = error instanceof Problem && error.code === 'host.file-changed';
        if (!changed || attempt === MAX_TRIES) throw error;
      }
    }
  }
}

function filesOf({ target }: ReadyWork): readonly TargetFile[] {
  return target.plan?.files ?? [];
}

function together(standings: readonly LineStanding[]): LineStanding {
  const there = [...new Set(standings.filter((standing) => standing !== 'absent'))];
  const [only = 'absent'] = there;
  return there.length > 1 ? 'mixed' : only;
}
