import { constants } from 'node:fs';
import { access, chmod, lstat, mkdtemp, open, realpath, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ClientError, EXIT, usageError } from './exit-codes.js';
import { FileState } from './file-state.js';

/** Reasons why a file cannot be written, by system error code. `directory` is the directory that contains the file. */
const REASONS: Readonly<Record<string, (directory: string) => string>> = {
  ENOSPC: (directory) => `no space left in ${directory} (ENOSPC)`,
  EDQUOT: (directory) => `the disk quota in ${directory} is exceeded (EDQUOT)`,
  EROFS: (directory) => `${directory} is on a read-only file system (EROFS)`,
  EACCES: (directory) => `no permission to write in ${directory} (EACCES)`,
  EPERM: (directory) => `no permission to write in ${directory} (EPERM)`,
  ENOENT: (directory) => `${directory} does not exist (ENOENT)`,
  ENOTDIR: (directory) => `${directory} is not a directory (ENOTDIR)`,
  EISDIR: () => 'it is a directory (EISDIR)',
  ENAMETOOLONG: () => 'the name is too long (ENAMETOOLONG)',
};

/** OutputFile is a path to which a result will be written. The path contains either its previous content or the complete result, never a part of the result. */
export class OutputFile {
  private constructor(
    readonly path: string,
    private readonly before: FileState,
  ) {}

  /** Records the current state of the path, and checks that the path can be written, before any approval is requested. */
  static async reserve(path: string): Promise<OutputFile> {
    const before = await FileState.of(path);
    if (before.isDirectory) throw usageError(`${path} is a directory. Specify a file.`);
    const isReplaced = !before.exists || before.isRegular;
    if (isReplaced) await writing(path, async () => access(dirname(await targetOf(path)), constants.W_OK));
    return new OutputFile(path, before);
  }

  /**
   * Reserves `given`, or `derived` if the caller named no path. A derived path must not be a symbolic link, because the author of the signed files could have
   * planted a link to another location.
   */
  static async reserveBeside(given: string | undefined, derived: string): Promise<OutputFile> {
    const status = given === undefined ? await lstat(derived).catch(() => undefined) : undefined;
    if (status?.isSymbolicLink() !== true) return OutputFile.reserve(given ?? derived);
    throw usageError(
      `${derived} is a symbolic link, so it was not overwritten. Remove it, or specify another file with --out.`,
    );
  }

  /** Writes the content. If the path changed after it was reserved, throws an error that names the signing request `requestId`. */
  async write(content: Content, { mode, requestId }: WriteOptions = {}): Promise<void> {
    if (this.before.exists && !this.before.isRegular) return this.writeInto(content);
    await this.replace(
      async (fresh) => {
        const file = await open(fresh, 'wx', mode ?? 0o666);
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
      },
      { mode, requestId },
    );
  }

  /** Replaces the path with a file that `make` writes to a temporary path next to it. */
  async replace(make: (fresh: string) => Promise<void>, options: WriteOptions = {}): Promise<void> {
    const target = await targetOf(this.path);
    await writing(this.path, async () => {
      const place = await mkdtemp(join(dirname(target), '.sealwright-'));
      try {
        const fresh = join(place, basename(target));
        await make(fresh);
        await this.publish(fresh, options);
      } finally {
        await rm(place, { recursive: true, force: true });
      }
    });
  }

  /** Moves a finished file to the path, on the same file system. */
  async publish(fresh: string, { mode, requestId, hasSameContent }: WriteOptions = {}): Promise<void> {
    if (!(await this.before.isCurrent(hasSameContent))) {
      const request = requestId === undefined ? '' : ` The signature belongs to request ${requestId}.`;
      throw new ClientError(EXIT.failed, `${this.path} was changed by another program, so it was not overwritten.${request}`); // prettier-ignore
    }
    const target = await targetOf(this.path);
    if (mode === undefined && this.before.exists) await chmod(fresh, (await stat(target)).mode & 0o777);
    await rename(fresh, target);
  }

  /** Writes to a pipe or device in place, such as /dev/stdout. */
  private writeInto(content: Content): Promise<void> {
    return writing(this.path, async () => {
      const file = await open(this.path, 'w');
      try {
        await file.writeFile(content);
      } finally {
        await file.close();
      }
    });
  }
}

type Content = Buffer | string | Iterable<Buffer>;

interface WriteOptions {
  /** Permissions of the file, subject to the umask. Default: the permissions of the existing file, or 0o666 for a new file. */
  readonly mode?: number | undefined;
  readonly requestId?: string | undefined;
  /** Reports whether the path still has the same content. Called if the file's times have changed. */
  readonly hasSameContent?: (() => Promise<boolean>) | undefined;
}

/** Resolves symbolic links, so that a link still points to the file after the file is replaced. */
export function targetOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** writing runs work that writes to a path. Converts system errors to a ClientError that explains the cause. */
export async function writing<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = REASONS[error.code ?? '']?.(directoryOf(error, path)) ?? error.message;
    throw new ClientError(EXIT.failed, `Cannot write ${path}: ${reason}.`);
  }
}

/** Returns the directory that an error concerns. `access` is called with the directory itself. */
function directoryOf({ path, syscall }: NodeJS.ErrnoException, output: string): string {
  return path !== undefined && syscall === 'access' ? path : dirname(path ?? output);
}

/** Throws if a directory has less than `bytes` of free space. */
export async function assertSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize >= bytes) return;
  throw new ClientError(EXIT.failed, `No space left in ${directory}: ${bytes} bytes are needed, ${bavail * bsize} are free (ENOSPC).`); // prettier-ignore
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** Returns a ClientError for a system error that no command handles. */
export function systemFailure(error: NodeJS.ErrnoException): ClientError {
  const reason = error.path === undefined ? undefined : REASONS[error.code ?? '']?.(dirname(error.path));
  return new ClientError(EXIT.failed, reason === undefined ? `${error.message}.` : `${error.path}: ${reason}.`);
}
