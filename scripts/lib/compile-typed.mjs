import { before } from '@nestjs/swagger/plugin';
import path from 'node:path';
import { workerData } from 'node:worker_threads';
import ts from 'typescript';
import { assertParsed, compilerOptions, writeOutput } from './compile.mjs';
import { inRoot } from './project.mjs';

/** The plugin generates OpenAPI schemas for these files from their types and comments. */
const PLUGIN = {
  introspectComments: true,
  classValidatorShim: true,
  dtoFileNameSuffix: ['.dto.ts', 'page.ts', 'id-param.ts'],
};

// Runs as a thread of compile.mjs. Compiles the files in workerData.names, which are paths below src/, with the type checker.
const files = workerData.names.map((name) => inRoot('src', name));
const program = ts.createProgram(files, compilerOptions());
const transformers = { before: [before(PLUGIN, program)] };
for (const [index, file] of files.entries()) {
  const source = program.getSourceFile(file);
  assertParsed(program.getSyntacticDiagnostics(source));
  const outputs = {};
  const write = (name, text) => (outputs[path.extname(name)] = text);
  program.emit(source, write, undefined, false, transformers);
  writeOutput(workerData.names[index], outputs['.js'], JSON.parse(outputs['.map']));
}
