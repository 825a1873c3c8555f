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
  // The source maps of the build describe the original file.
  sourceMap: false,
};

/**
 * Makes the programs in a copy of dist/ load single modules. The build joins these modules into bundles, in which changing a
 * single file would have no effect.
 */
export function loadSingleModules(dist: string): void {
  for (const program of PROGRAMS) {
    const file = `src/${program}.ts`;
    writeFileSync(join(dist, `${program}.js`), compiled(readFileSync(join(ROOT, file), 'utf8'), file));
  }
}

/**
 * Compiles a single file, which takes a moment, whereas a build takes minutes. The result lacks what the build adds from other files (field descriptions for
 * docs/openapi.json), which no running code needs. Throws an Error if the source is not valid TypeScript.
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
