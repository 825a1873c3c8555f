import { type JsonMembers, memberTextOf } from '../../model/json.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { ExpansionLimit } from './expansion-limit.js';
import { atIndex, membersOf, objectsOf } from './sarif-values.js';

/** Matches tools' names for the checkout folder, whose path differs between builds. */
const CHECKOUT = /^%?(?:SRC|SOURCE|REPO|REPOSITORY|PROJECT)_?ROOT%?$|^%?(?:ROOTPATH|WORKSPACE|CHECKOUT)%?$/i;
/** MAX_STEPS is the maximum number of steps in a chain: nested artifacts, bases relative to bases, and nested logical locations. */
const MAX_STEPS = 32;
/** MAX_PART is the maximum length in characters of a string in a location. The limit is needed because the steps of a chain can repeat one string. */
const MAX_PART = 4000;

export interface SarifPlace {
  readonly location: string;
  readonly line: number | null;
}

/** SarifPlaces finds the locations of the results of one run (SARIF 2.1.0 sections 3.4, 3.14.14, 3.24, 3.28 to 3.33, 3.36 to 3.38 and 3.46). */
export class SarifPlaces {
  private readonly artifacts: readonly JsonMembers[];
  private readonly logical: readonly JsonMembers[];
  private readonly flows: readonly JsonMembers[];
  private readonly requests: readonly JsonMembers[];
  private readonly bases: JsonMembers;
  private readonly checkouts: ReadonlySet<string>;
  /** URIs of the checkout folder: the folders that the run declares, otherwise the folder in which the tool was started. */
  private readonly roots: readonly string[];

  constructor(
    run: JsonMembers,
    private readonly limit: ExpansionLimit,
  ) {
    this.artifacts = objectsOf(run['artifacts']);
    this.logical = objectsOf(run['logicalLocations']);
    this.flows = objectsOf(run['threadFlowLocations']);
    this.requests = objectsOf(run['webRequests']);
    this.bases = membersOf(run['originalUriBaseIds']);
    const mapped = objectsOf(run['versionControlProvenance']).map(({ mappedTo }) => membersOf(mappedTo));
    this.checkouts = new Set(mapped.map(({ uriBaseId }) => memberTextOf(uriBaseId)));
    const bases = Object.keys(this.bases).filter((base) => this.isCheckout(base));
    const declared = foldersOf([...bases.map((base) => membersOf(this.bases[base])), ...mapped]);
    const started = objectsOf(run['invocations']).map(({ workingDirectory }) => membersOf(workingDirectory));
    this.roots = declared.length > 0 ? declared : foldersOf(started);
  }

  /** Returns the locations of a result. For a result without locations, returns the end of the code flow, otherwise the analyzed file or request. */
  of(result: JsonMembers): SarifPlace[] {
    const places = objectsOf(result['locations']).flatMap((location) => this.at(location));
    if (places.length > 0) return places;
    const [flow] = objectsOf(result['codeFlows']).flatMap(({ threadFlows }) => objectsOf(threadFlows));
    const last = objectsOf(flow?.['locations']).at(-1);
    const end = last === undefined ? [] : this.at(membersOf(this.flowLocation(last)['location']));
    if (end.length > 0) return end;
    const target = this.artifact(membersOf(result['analysisTarget']));
    const request = this.request(membersOf(result['webRequest']));
    const location = target ?? request;
    return location === undefined ? [] : [{ location, line: null }];
  }

  /** Returns the code at the locations of a result if the run contains the code, alone or with the surrounding lines (sections 3.29.4 and 3.29.5). */
  snippets(result: JsonMembers): string[] {
    return objectsOf(result['locations']).flatMap((location) => {
      const { region, contextRegion } = membersOf(location['physicalLocation']);
      const snippet = snippetOf(region) || linesOf(membersOf(region), membersOf(contextRegion));
      return snippet === '' ? [] : [snippet];
    });
  }

  private at(location: JsonMembers): SarifPlace[] {
    const physical = membersOf(location['physicalLocation']);
    const artifact = this.artifact(membersOf(physical['artifactLocation']));
    const { startLine } = membersOf(physical['region']);
    const line = Number.isSafeInteger(startLine) && (startLine as number) > 0 ? (startLine as number) : null;
    if (artifact !== undefined) return [{ location: artifact, line: line !== null && line < 2 ** 31 ? line : null }];
    const names = objectsOf(location['logicalLocations']).map((logical) => this.logicalName(logical));
    const name = names.find((text) => text !== '');
    return name === undefined ? [] : [{ location: name, line: null }];
  }

  /** Returns the location of an artifact, which is found by URI or by index in the artifacts of the run. A nested artifact is written after a `!`. */
  private artifact(location: JsonMembers): string | undefined {
    const listed = atIndex(this.artifacts, location['index']);
    const named = typeof location['uri'] === 'string' ? location : membersOf(listed?.['location']);
    if (typeof named['uri'] !== 'string') return undefined;
    const own = this.uri(named);
    if (own === '') return undefined;
    const path = [own];
    let parent = atIndex(this.artifacts, listed?.['parentIndex']);
    for (let step = 0; parent !== undefined && step < MAX_STEPS; step += 1) {
      const around = membersOf(parent['location']);
      if (typeof around['uri'] === 'string') path.unshift(this.uri(around));
      parent = atIndex(this.artifacts, parent['parentIndex']);
    }
    return path.map((part, index) => (index === 0 ? part : `!/${part.replace(/^\/+/, '')}`)).join('');
  }

  /**
   * Returns a URI relative to the checkout folder if the URI is already relative or is in a checkout folder of the run. Otherwise, resolves the URI against
   * its base.
   */
  private uri(location: JsonMembers): string {
    let uri = local(partOf(location['uri']));
    let base = memberTextOf(location['uriBaseId']);
    for (let step = 0; base !== '' && step < MAX_STEPS && !isAbsolute(uri); step += 1) {
      const above = Object.hasOwn(this.bases, base) ? membersOf(this.bases[base]) : {};
      const start = local(partOf(above['uri']));
      if (isAbsolute(start) && this.isCheckout(base)) break;
      if (start !== '') uri = `${start}${start.endsWith('/') ? '' : '/'}${uri}`;
      base = memberTextOf(above['uriBaseId']);
    }
    this.limit.spend(uri.length);
    const root = this.roots.find((one) => uri.length > one.length && uri.startsWith(one));
    if (root !== undefined) return plain(withoutDots(uri.slice(root.length)));
    return isAbsolute(uri) ? uri : plain(withoutDots(uri));
  }

  private isCheckout(base: string): boolean {
    return CHECKOUT.test(base) || this.checkouts.has(base);
  }

  private flowLocation(location: JsonMembers): JsonMembers {
    return location['location'] === undefined ? (atIndex(this.flows, location['index']) ?? location) : location;
  }

  private logicalName(given: JsonMembers): string {
    let logical: JsonMembers | undefined = { ...atIndex(this.logical, given['index']), ...given };
    const names: string[] = [];
    for (let step = 0; logical !== undefined && step < MAX_STEPS; step += 1) {
      const qualified = partOf(logical['fullyQualifiedName']);
      this.limit.spend(qualified.length);
      if (qualified !== '') return [qualified, ...names].join('.');
      const name = partOf(logical['name']);
      if (name !== '') names.unshift(name);
      this.limit.spend(name.length);
      logical = atIndex(this.logical, logical['parentIndex']);
    }
    return names.join('.');
  }

  private request(given: JsonMembers): string | undefined {
    const request = { ...atIndex(this.requests, given['index']), ...given };
    const target = partOf(request['target']);
    this.limit.spend(target.length);
    return target === '' ? undefined : target;
  }
}

function partOf(value: unknown): string {
  return truncate(memberTextOf(value), MAX_PART);
}

function snippetOf(region: unknown): string {
  return memberTextOf(membersOf(membersOf(region)['snippet'])['text']);
}

/** Extracts the lines of a region from the snippet of a surrounding region. */
function linesOf({ startLine, endLine = startLine }: JsonMembers, around: JsonMembers): string {
  const from = around['startLine'];
  if (typeof from !== 'number' || typeof startLine !== 'number' || typeof endLine !== 'number' || startLine < from)
    return '';
  return snippetOf(around)
    .split(/\r?\n/)
    .slice(startLine - from, Math.max(endLine, startLine) - from + 1)
    .join('\n');
}

/** Returns the URIs of folders with a trailing slash, longest first. The root of a file system or host is not a checkout folder. */
function foldersOf(locations: readonly JsonMembers[]): string[] {
  return locations
    .map(({ uri }) => local(memberTextOf(uri)))
    .filter((uri) => /^(?:file:\/{0,3}|(?!file:)[a-z][a-z0-9+.-]*:\/\/[^/]+\/|\/)[^/]/i.test(uri))
    .map((uri) => (uri.endsWith('/') ? uri : `${uri}/`))
    .sort((a, b) => b.length - a.length);
}

/** Normalizes a local file URI, which has three forms in RFC 8089. Java writes `file:/src/a.c`. */
function local(uri: string): string {
  return uri.replace(/^file:(?:\/\/localhost)?\/(?!\/)/i, 'file:///');
}

function isAbsolute(uri: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(uri) || uri.startsWith('/');
}

/**
 * Removes `.` segments from a relative reference (`./src/a.c`), so that the location of a file does not depend on how the tool was started. `..` is kept,
 * because the preceding segment may be a symbolic link (SARIF 2.1.0 section 3.10.2). URIs contain no backslashes, so a backslash is a Windows separator.
 */
function withoutDots(uri: string): string {
  const segments = uri.replaceAll('\\', '/').split('/');
  return segments.filter((segment) => segment !== '.').join('/') || uri;
}

/** Decodes a percent-encoded path. */
function plain(uri: string): string {
  if (!uri.includes('%')) return uri;
  try {
    const path = decodeURIComponent(uri);
    return path.includes('\u0000') || !path.isWellFormed() ? uri : path;
  } catch {
    return uri;
  }
}
