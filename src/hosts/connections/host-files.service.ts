import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import { FILE_STATE, READ_FILE, REPLACE_FILE, TIDY_FILE } from './file-scripts.js';
import type { ChangeSession, ExecResult, SshSession } from '../model/ssh-session.port.js';

/** FileState is the state of a file or directory as reported by the host. */
export interface FileState {
  /** Path with all symbolic links resolved. */
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
  /** Hexadecimal SHA-256 of the file. Null if the path is not a regular file or the file is larger than 64 MiB. */
  readonly sha256: string | null;
}

export interface FileReplacement {
  readonly path: string;
  readonly content: Buffer;
  /** Expected SHA-256 (hexadecimal) of the current file, or null if the file must not exist. */
  readonly expected: string | null;
  /**
   * Account that owns the file. The file is replaced with this account's privileges. If root replaced the file, root would follow the account's symbolic links
   * to any file.
   */
  readonly as?: string;
  /** Part of the temporary file's name, which identifies files left behind by a crash. */
  readonly mark: string;
  /** Mode of a new file. An existing file keeps its mode. Default: `600`. */
  readonly mode?: string;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MARK = /^[A-Za-z0-9-]{1,64}$/;

/** HostFiles reads and replaces files on a host with POSIX shell commands, because SFTP is often disabled on hosts that allow logins. */
@Injectable()
export class HostFiles {
  /** Returns the state of a path, or undefined if nothing exists there. Throws Problem `host.file` if the path cannot be read. */
  async state(session: SshSession, path: string, as?: string): Promise<FileState | undefined> {
    const result = await session.run(FILE_STATE, { args: [path], as });
    if (result.code === 44) return undefined;
    assertDone(result, path);
    return readState(result.stdout.toString());
  }

  /** Returns the content of a file, or undefined if the file does not exist. Throws Problem `host.file` or `host.output`. */
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
   * Replaces a file atomically: readers always find either the old or the new content. The mode, owner, access control list and SELinux label are preserved.
   * Throws Problem `host.file-changed` if another program wrote to the file, and `host.file` for any other failure. In both cases, the replacement has no
   * effect.
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
      throw new Problem(
        'conflict',
        'host.file-changed',
        'The file was changed by another program during the update. Try again.',
      );
    assertDone(result, path);
  }

  /** Deletes temporary files with this mark, which exist if the host went down during an earlier attempt. */
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
      `Accounts other than root can change a directory on the path to ${path}, so root does not write there.`,
    );
  // Only the last line of the error output describes the cause. Control characters are replaced.
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
