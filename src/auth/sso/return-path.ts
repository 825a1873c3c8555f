import { Problem } from '../../platform/errors/problem.js';

/** A path on this site, whatever tricks are in it; never an address elsewhere (CWE-601). */
export function returnPath(wanted: string | undefined, publicUrl: string): string {
  if (wanted === undefined) return '/';
  const target = URL.canParse(wanted, publicUrl) ? new URL(wanted, publicUrl) : undefined;
  const isPath = /^\/(?![/\\])/.test(wanted) && !/[\p{Cc}\\]/u.test(wanted);
  if (!isPath || target?.origin !== new URL(publicUrl).origin) {
    throw new Problem('malformed', 'sso.return-to', 'returnTo must be a path on this site.');
  }
  return `${target.pathname}${target.search}`;
}
