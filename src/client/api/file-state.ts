import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ClientError, EXIT } from './exit-codes.js';

/**
 * FileState identifies the content of a path at one moment. A FileState is compared before writing, so that a file is not overwritten, and no signature is
 * written next to the file, if the file was replaced or edited while the approval was pending.
 */
export class FileState {
  private constructor(
    readonly path: string,
    private readonly stats: BigIntStats | undefined,
  ) {}

  /** Returns the state of a path, which may not exist yet. */
  static async of(path: string): Promise<FileState> {
    return new FileState(path, await stat(path, { bigint: true }).catch(() => undefined));
  }

  get exists(): boolean {
    return this.stats !== undefined;
  }

  /** Whether the path is a regular file. Pipes and devices cannot be read twice. */
  get isRegular(): boolean {
    return this.stats?.isFile() === true;
  }

  get isDirectory(): boolean {
    return this.stats?.isDirectory() === true;
  }

  get bytes(): number {
    return Number(this.stats?.size ?? 0n);
  }

  /**
   * Reports whether the path still has the same content. Device, inode, size and times are compared first. If any of these values differ but the size is equal,
   * as after `touch`, `hasSameContent` decides.
   */
  async isCurrent(hasSameContent: () => Promise<boolean> = () => Promise.resolve(false)): Promise<boolean> {
    const now = (await FileState.of(this.path)).stats;
    if (now === undefined || this.stats === undefined) return now === this.stats;
    if (!this.stats.isFile()) return now.ino === this.stats.ino;
    const isSame = FIELDS.every((field) => now[field] === this.stats?.[field]);
    return isSame || (now.isFile() && now.size === this.stats.size && (await hasSameContent()));
  }

  /** Throws if the file no longer has the content for which the signature was requested. */
  async assertCurrent(requestId: string | undefined, hasSameContent?: () => Promise<boolean>): Promise<void> {
    if (await this.isCurrent(hasSameContent)) return;
    const request = requestId === undefined ? 'The signature' : `The signature of request ${requestId}`;
    throw new ClientError(
      EXIT.failed,
      `${this.path} changed after it was hashed for signing, so nothing was written. ${request} is for the earlier content. Sign the file again.`,
    );
  }
}

const FIELDS = ['dev', 'ino', 'size', 'mtimeNs', 'ctimeNs'] as const;
