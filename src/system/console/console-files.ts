import { Injectable, Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Config } from '../../platform/config/config.js';

/** Content codings that a browser can accept in `Accept-Encoding`. */
export type Coding = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  readonly type: string;
  /** Strong validator of the content (ETag). */
  readonly tag: string;
  /** The content in the codings created by the build: text in all codings, fonts and images only uncompressed. */
  readonly bytes: ReadonlyMap<Coding, Buffer>;
}

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/**
 * ConsoleFiles holds the built console in memory, in processes that serve browsers. The files are a few megabytes, compressed at build time rather than on
 * each request.
 */
@Injectable()
export class ConsoleFiles {
  private readonly files = new Map<string, ConsoleFile>();

  constructor({ answers }: Config) {
    if (!answers) return;
    // The build places dist/ui next to dist/system.
    const folder = join(import.meta.dirname, '../../ui');
    if (existsSync(join(folder, 'index.html'))) this.read(folder);
    else new Logger(ConsoleFiles.name).warn('The web console has not been built. Run: npm run build');
  }

  /** Returns a file by its path below the root, such as `static/index-1a2b.js`. */
  find(path: string): ConsoleFile | undefined {
    return this.files.get(path);
  }

  private read(folder: string): void {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
    for (const name of names) {
      const type = TYPES[extname(name)];
      if (type === undefined) continue;
      const plain = readFileSync(join(folder, name));
      const bytes = new Map<Coding, Buffer>([['identity', plain]]);
      if (names.includes(`${name}.br`)) bytes.set('br', readFileSync(join(folder, `${name}.br`)));
      if (names.includes(`${name}.gz`)) bytes.set('gzip', readFileSync(join(folder, `${name}.gz`)));
      this.files.set(name, {
        type,
        bytes,
        tag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
      });
    }
  }
}

/** Returns the smallest coding that the browser accepts (RFC 9110 section 12.5.3); a weight of 0 rejects a coding. */
export function codingFor(accepted: string | undefined, { bytes }: ConsoleFile): Coding {
  const taken = new Set(
    (accepted ?? '')
      .split(',')
      .map((part) =>
        part
          .trim()
          .toLowerCase()
          .split(';')
          .map((piece) => piece.trim()),
      )
      .filter(([, weight]) => weight === undefined || !/^q=0(?:\.0*)?$/.test(weight))
      .map(([name]) => name),
  );
  return (['br', 'gzip'] as const).find((coding) => taken.has(coding) && bytes.has(coding)) ?? 'identity';
}
