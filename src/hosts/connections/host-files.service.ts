import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import { FILE_STATE, READ_FILE, REPLACE_FILE, TIDY_FILE } from './file-scripts.js';
import type { ChangeSession, ExecResult, SshSession } from '../model/ssh-session.port.js';

/** State of a file or directory, as the host reports it. */
export interface FileState {
  /** The path with all symbolic links resolved. */
  readonly realPath: string;
  readonly kind: 'file' | 'directory' | 'other';
  /** Whether the path itself is a symbolic link. */
  readonly isLink: boolean;
  /** Octal permissions, for example `600`. */
  readonly mode: string;
  readonly uid: number;
  readonly gid: number;
  readonly owner: string;
  readonly links: number;
  readonly size: number;
  readonly modifiedAt: Date;
  /** Hexadecimal; null for what is no regular file, or is larger than 64 MiB. */
  readonly sha256: string | null;
}

export interface FileReplacement {
  readonly path: string;
  readonly content: Buffer;
  /** SHA-256 (hexadecimal) that the file must still have; null when it must not exist. */
  readonly expected: string | null;
  /** Account that owns the file and that the work is done as: root would follow that account's symbolic links anywhere. */
  readonly as?: string;
  /** Part of the temporary file's name, so that a file that a crash leaves behind can be recognized. */
  readonly mark: string;
  /** Mode of a new file; an existing file keeps its own. Default `600`. */
  readonly mode?: string;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MARK = /^[A-Za-z0-9-]{1,64}$/;

/** Files of a host, read and replaced by POSIX shell commands: sftp is often switched off where a login is not. */
@Injectable()
export class HostFiles {
  /** Undefined when there is nothing at the path. Throws Problem `host.file` when it cannot be read. */
  async state(session: SshSession, path: string, as?: string): Promise<FileState | undefined> {
    const result = await session.run(FILE_STATE, { args: [path], as });
    if (result.code === 44) return undefined;
    assertDone(result, path);
    return readState(result.stdout.toString());
  }

  /** Undefined when there is no such file. Throws Problem `host.file` or `host.output`. */
  async read(
    session: SshSession,
    path: string,
    { as, maxBytes = MAX_BYTES } = {} as ReadOptions,
  ): Promise<Buffer | undefined> {
    const result = await session.run(READ_FILE, { args: [path], as, maxBytes });
    if (result.truncated) throw new Problem('refused', 'host.output', `The file has more than ${maxBytes} bytes.`);
    if (result.code === 44) return undefined;
    assertDone(result, path);
    return result.stdout;
  }

  /**
   * Replaces a file in one step: at every moment readers find the old bytes or the new ones, whole. Mode, owner, access control list and
   * SELinux label stay. Throws Problem `host.file-changed` when another program wrote to it meanwhile, `host.file` when it did not work;
   * then the file is as it was.
   */
  async replace(
    session: ChangeSession,
    { path, content, expected, as, mark, mode = '600' }: FileReplacement,
  ): Promise<void> {
    if (!MARK.test(mark) || !/^[0-7]{3,4}$/.test(mode)) throw new Error('the mark or the mode is invalid');
    const sha256 = createHash('sha256').update(content).digest('hex');
    const args = [path, mark, expected ?? 'none', sha256, mode];
    const result = await session.run(REPLACE_FILE, { args, as, input: content, timeoutMs: 60_000 });
    if (result.code === 76)
      throw new Problem('conflict', 'host.file-changed', 'The file was just changed by another program. Try again.');
    assertDone(result, path);
  }

  /** Takes away what an attempt with this mark left beside the file when the host itself stopped in the middle of it. */
  async tidy(session: ChangeSession, { path, as, mark }: Pick<FileReplacement, 'path' | 'as' | 'mark'>): Promise<void> {
    if (!MARK.test(mark)) throw new Error('the mark is invalid');
    assertDone(await session.run(TIDY_FILE, { args: [path, mark], as }), path);
  }
}

interface ReadOptions {
  readonly as?: string;
  readonly maxBytes?: number;
}

function assertDone({ code, stderr }: ExecResult, path: string): void {
  if (code === 0) return;
  if (code === 77)
    throw new Problem(
      'refused',
      'host.unsafe-path',
      `A directory on the path to ${path} can be changed by accounts other than root, so root does not write there.`,
    );
  // The last line of the output is the only hint at the cause; control characters are removed from it.
  const lastLine = stderr.toString('latin1').trim().split('\n').at(-1) ?? '';
  const hint = lastLine.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
  throw new Problem('refused', 'host.file', `The host could not change ${path}: ${hint || `exit status ${code}`}.`);
}

function readState(text: string): FileState {
  const [facts = '', realPath = '', sha256 = ''] = text.split('\n');
  const [kind = '', link = '', mode = '', uid, gid, owner = '', links, size, seconds] = facts.split('|');
  return {
    realPath,
    kind:
      kind === 'regular file' || kind === 'regular empty file' ? 'file' : kind === 'directory' ? 'directory' : 'other',
    isLink: link === 'link',
    mode,
    uid: Number(uid),
    gid: Number(gid),
    owner,
    links: Number(links),
    size: Number(size),
    modifiedAt: new Date(Number(seconds) * 1000),
    sha256: sha256 === '' ? null : sha256,
  };
}
