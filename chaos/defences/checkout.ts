import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { Mutation } from './mutation.js';

const ROOT = join(import.meta.dirname, '../..');
/** Joined into bundles by the build; as single modules they load each file that was compiled anew. */
const PROGRAMS = ['main', 'worker', 'cli', 'sealwright'];

/** The number of times that the text of a mutation occurs in a tree. */
export function occurrences({ file, text }: Mutation, root = ROOT): number {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8').split(text).length - 1 : 0;
}

/** A copy of the working tree and of what was built of it, in which one defence at a time is taken out. */
export class Checkout {
  private readonly options = compilerOptions();

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
    for (const program of PROGRAMS) this.compile(`src/${program}.ts`);
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

  /**
   * Compiles one file by itself, which takes a moment instead of the minutes of a build. What the build adds to it from other files (the
   * descriptions of fields for docs/openapi.json) is missing then; nothing that runs depends on it.
   */
  compile(file: string): void {
    const source = readFileSync(join(this.path, file), 'utf8');
    const { outputText, diagnostics = [] } = ts.transpileModule(source, {
      compilerOptions: this.options,
      fileName: file,
      reportDiagnostics: true,
    });
    const faults = diagnostics.filter((one) => one.file !== undefined);
    const [fault] = faults;
    if (fault !== undefined)
      throw new Error(`${file} does not compile: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ')}`);
    const compiled = join(this.path, file.replace(/^src\//, 'dist/').replace(/\.ts$/, '.js'));
    // Source maps are left out: those of the build are of the file before.
    if (compiled.startsWith(join(this.path, 'dist/'))) writeFileSync(compiled, outputText);
  }
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  return { ...options, module: ts.ModuleKind.ESNext, moduleResolution: undefined, sourceMap: false };
}
