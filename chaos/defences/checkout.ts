import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compiled, loadSingleModules } from '../support/single-modules.js';
import type { Mutation } from './mutation.js';

const ROOT = join(import.meta.dirname, '../..');

/** The number of times that the text of a mutation occurs in a tree. */
export function occurrences({ file, text }: Mutation, root = ROOT): number {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8').split(text).length - 1 : 0;
}

/** A copy of the working tree and of what was built of it, in which one defence at a time is taken out. */
export class Checkout {
  /** @param path a directory that does not exist yet */
  constructor(readonly path: string) {
    const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
    for (const file of new Set(listed.split('\0'))) {
      if (file === '' || !existsSync(join(ROOT, file))) continue;
      mkdirSync(join(path, dirname(file)), { recursive: true });
      cpSync(join(ROOT, file), join(path, file), { recursive: true });
    }
    for (const packages of ['node_modules', 'ui/node_modules'])
      if (existsSync(join(ROOT, packages))) symlinkSync(join(ROOT, packages), join(path, packages));
    cpSync(join(ROOT, 'dist'), join(path, 'dist'), { recursive: true });
    loadSingleModules(join(path, 'dist'));
  }

  /** Takes a defence out, in the source and in what is compiled of it. Throws an Error unless the text is there once and the result is TypeScript. */
  takeOut(mutation: Mutation): void {
    const { file, text, instead } = mutation;
    const found = occurrences(mutation, this.path);
    if (found !== 1)
      throw new Error(`the text to take out is ${found} times in ${file}, not once: adapt chaos/defences/`);
    const path = join(this.path, file);
    writeFileSync(path, readFileSync(path, 'utf8').split(text).join(instead));
    this.compile(file);
  }

  /** Puts a file back as it is in the working tree. */
  putBack(file: string): void {
    cpSync(join(ROOT, file), join(this.path, file));
    this.compile(file);
  }

  private compile(file: string): void {
    const result = compiled(readFileSync(join(this.path, file), 'utf8'), file);
    if (file.startsWith('src/'))
      writeFileSync(join(this.path, file.replace(/^src/, 'dist').replace(/\.ts$/, '.js')), result);
  }
}
