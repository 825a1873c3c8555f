import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = ['main', 'worker', 'cli', 'sealwright'];

const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
  config: { compilerOptions: object };
};
const OPTIONS: ts.CompilerOptions = {
  ...ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options,
  module: ts.ModuleKind.ESNext,
  moduleResolution: undefined,
  // Those of the build are of the file before.
  sourceMap: false,
};

/**
 * Has the programs of a copy of dist/ load the modules beside them. The build joins these modules into bundles, in which a change of a
 * single file would do nothing.
 */
export function loadSingleModules(dist: string): void {
  for (const program of PROGRAMS) {
    const file = `src/${program}.ts`;
    writeFileSync(join(dist, `${program}.js`), compiled(readFileSync(join(ROOT, file), 'utf8'), file));
  }
}

/**
 * Compiles one file by itself, which takes a moment instead of the minutes of a build. What the build adds to it from other files (the
 * descriptions of fields for docs/openapi.json) is missing then; nothing that runs depends on it. Throws an Error for what is no TypeScript.
 */
export function compiled(source: string, fileName: string): string {
  const { outputText, diagnostics = [] } = ts.transpileModule(source, {
    compilerOptions: OPTIONS,
    fileName,
    reportDiagnostics: true,
  });
  const fault = diagnostics.find(({ file }) => file !== undefined);
  if (fault === undefined) return outputText;
  throw new Error(`${fileName} does not compile: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ')}`);
}
