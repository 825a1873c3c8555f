import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'rolldown/experimental';
import ts from 'typescript';
import { inRoot } from './project.mjs';

const DIST = inRoot('dist');
const STATE = path.join(DIST, '.compiled.json');
/** Files that cause a full recompilation when they change. */
const TOOLS = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/lib/compile.mjs',
  'scripts/lib/compile-typed.mjs',
];
/** Files whose JavaScript depends on types in other files: the OpenAPI schemas of DTOs and controllers, the column types of entities. */
const TYPED = /(?:\.dto|\.controller|\.entity|page|id-param)\.ts$|@Entity\(/;
const DECORATED = /^\s*@[A-Z]\w*\(|\(@[A-Z]\w*\(/m;
const ASSETS = ['**/public/**', '**/*.json'];

/**
 * compileSources compiles src/ to dist/ and copies the files that the code reads at run time. It transpiles each changed file separately without checking types
 * (`npm run types` does). The type checker runs only for files whose output depends on types, and only if a declaration changed.
 * @returns {Promise<{ cold: boolean }>} cold: whether all files were compiled
 * @throws {Error} with the positions, if a file has a syntax error
 */
export async function compileSources() {
  const options = compilerOptions();
  const tools = hashOf(TOOLS.map((name) => readFileSync(inRoot(name), 'utf8')).join('\0'));
  const before = stateOf(tools);
  const cold = before === undefined;
  const files = sourceFiles();
  // The bundler has replaced the top-level modules with programs of the same names, so those modules are always compiled.
  const isCurrent = (name, hash) => name.includes('/') && before?.files[name]?.hash === hash;
  const after = { tools, typed: '', files: {} };
  const read = files.map((name) => {
    const text = readFileSync(inRoot('src', name), 'utf8');
    return { name, text, hash: hashOf(text), isTyped: TYPED.test(name) || TYPED.test(text) };
  });
  for (const { name, text, hash, isTyped } of read) {
    const shape = isCurrent(name, hash) ? before.files[name].shape : isTyped ? hash : hashOf(shapeOf(name, text));
    after.files[name] = { hash, shape };
  }
  after.typed = hashOf(read.map(({ name }) => `${name} ${after.files[name].shape}`).join('\n'));
  const typed = read.filter(({ isTyped }) => isTyped).map(({ name }) => name);
  const typing = before?.typed === after.typed ? undefined : compileTyped(typed);
  for (const { name, text, hash, isTyped } of read)
    if (!isTyped && !isCurrent(name, hash)) transpile(name, text, options);
  await typing;
  for (const name of Object.keys(before?.files ?? {})) if (!(name in after.files)) removeOutput(name);
  for (const asset of globSync(ASSETS, { cwd: inRoot('src') })) copyAsset(asset);
  writeFileSync(STATE, JSON.stringify(after));
  return { cold };
}

/** compilerOptions returns the options of tsconfig.build.json. */
export function compilerOptions() {
  const { config } = ts.readConfigFile(inRoot('tsconfig.build.json'), ts.sys.readFile);
  return ts.convertCompilerOptionsFromJson(mergedOptions(config), inRoot()).options;
}

/** writeOutput writes the compiler's output for `name`, a path below src/. */
export function writeOutput(name, code, map) {
  const file = outputOf(name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, code);
  const { sourcesContent: _unused, ...rest } = map;
  writeFileSync(`${file}.map`, JSON.stringify(rest));
}

/** assertParsed throws an Error with the positions of syntax errors, if there are any. */
export function assertParsed(diagnostics) {
  if (diagnostics.length > 0) throw new Error(ts.formatDiagnostics(diagnostics, FORMAT));
}

function mergedOptions(config) {
  const base = ts.readConfigFile(inRoot('tsconfig.json'), ts.sys.readFile).config;
  return { ...base.compilerOptions, ...config.compilerOptions };
}

function stateOf(tools) {
  const state = existsSync(STATE) ? JSON.parse(readFileSync(STATE, 'utf8')) : undefined;
  if (state?.tools === tools) return state;
  rmSync(DIST, { recursive: true, force: true });
  return undefined;
}

function sourceFiles() {
  return globSync('**/*.ts', { cwd: inRoot('src') })
    .filter((name) => !name.endsWith('.spec.ts') && !name.endsWith('.d.ts'))
    .map((name) => name.split(path.sep).join('/'))
    .sort();
}

/**
 * Transpiles one file. Files with decorators need the helpers and parameter types emitted by TypeScript. For other files, Rolldown takes a tenth of the time.
 */
function transpile(name, text, options) {
  const fileName = inRoot('src', name);
  const { code, map } = DECORATED.test(text) ? withTypeScript(text, fileName, options) : withRolldown(text, fileName);
  map.sources = [path.relative(path.dirname(outputOf(name)), fileName)];
  writeOutput(name, code, map);
}

function withTypeScript(text, fileName, options) {
  // The compiler cannot infer from a single file that package.json sets "type": "module".
  const modules = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
  const wanted = { compilerOptions: { ...options, ...modules }, fileName, reportDiagnostics: true };
  const { outputText, sourceMapText, diagnostics } = ts.transpileModule(text, wanted);
  assertParsed(diagnostics);
  return { code: outputText, map: JSON.parse(sourceMapText) };
}

function withRolldown(text, fileName) {
  const { code, map, errors } = transformSync(fileName, text, { lang: 'ts', target: 'es2023', sourcemap: true });
  if (errors.length > 0)
    throw new Error(errors.map(({ message, loc }) => `${fileName}:${loc?.line}: ${message}`).join('\n'));
  const { version, names, sources, sourcesContent, mappings } = map;
  return {
    code: `${code}//# sourceMappingURL=${path.basename(fileName).replace(/\.ts$/, '.js')}.map\n`,
    map: { version, names, sources, sourcesContent, mappings },
  };
}

/** Runs the type checker in a thread, concurrently with the files that do not need it. */
function compileTyped(names) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('compile-typed.mjs', import.meta.url), { workerData: { names } });
    worker.once('error', reject);
    worker.once('exit', resolve);
  });
}

/**
 * Returns the text of a file without function bodies. A function body affects other files only through inferred return types, which are not part of a schema,
 * because controllers and DTOs declare their return types.
 */
function shapeOf(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false);
  const parts = [];
  for (const statement of source.statements) {
    const isClass = ts.isClassDeclaration(statement);
    if (isClass) parts.push(text.slice(statement.pos, statement.members.pos));
    for (const part of isClass ? statement.members : [statement])
      parts.push(text.slice(part.pos, part.body?.pos ?? part.end));
  }
  return parts.join('\n');
}

function copyAsset(name) {
  const target = path.join(DIST, name);
  if (statSync(inRoot('src', name)).isDirectory()) return;
  mkdirSync(path.dirname(target), { recursive: true });
  copyFileSync(inRoot('src', name), target);
}

function removeOutput(name) {
  for (const end of ['', '.map']) rmSync(`${outputOf(name)}${end}`, { force: true });
}

function outputOf(name) {
  return path.join(DIST, name.replace(/\.ts$/, '.js'));
}

function hashOf(text) {
  return createHash('sha256').update(text).digest('base64');
}

const FORMAT = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => inRoot(),
  getNewLine: () => '\n',
};
