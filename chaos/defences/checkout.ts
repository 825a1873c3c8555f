import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compiled, loadSingleModules } from '../support/single-modules.js';
import type { Mutation } from './mutation.js';

const ROOT = join(import.meta.dirname, '../..');

/** Returns the number of occurrences of a mutation's text in a tree. */
export function occurrences({ file, text }: Mutation, root = ROOT): number {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8').split(text).length - 1 : 0;
}

/** A copy of the working tree and its build, from which one defence at a time is removed. */
export class Checkout {
  /** @param path directory to create; must not exist */
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

  /** Removes a defence from the source and the compiled code. Throws an Error unless the text occurs exactly once and the result is valid TypeScript. */
  takeOut(mutation: Mutation): void {
    const { file, text, instead } = mutation;
    const found = occurrences(mutation, this.path);
    if (found !== 1)
      throw new Error(`the text to take out is ${found} times in ${file}, not once: adapt chaos/defences/`);
    const path = join(this.path, file);
    writeFileSync(path, readFileSync(path, 'utf8').split(text).join(instead));
    this.compile(file);
  }

  /** Restores a file from the working tree. */
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
