import { isPlainAddress } from '../../model/plain-address.js';
import type { Claims } from '../../../access/identity/verified-identity.js';
import type { RoleName } from '../../../access/scopes.js';
import { Problem } from '../../../platform/errors/problem.js';
import { isStorable } from '../../../platform/text/storable-text.js';
import { nameFault } from '../../../platform/text/plain-name.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { ClaimRule } from '../../model/identity-provider.entity.js';
import { canonical } from '../../model/users.service.js';

/** Returns the roles of all matching rules. If no rule matches, returns the default roles, or undefined if the provider has no default roles. */
export function rolesOf(
  claims: Claims,
  rules: readonly ClaimRule[],
  fallback: readonly RoleName[] | null,
): RoleName[] | undefined {
  const matching = matchingRules(claims, rules);
  if (matching.length > 0) return [...new Set(matching.flatMap(({ roles }) => roles))];
  return fallback === null ? undefined : [...fallback];
}

/** Returns the rules that match the claims. An email address that the provider reports as unverified matches nothing. */
export function matchingRules(claims: Claims, rules: readonly ClaimRule[]): ClaimRule[] {
  const known = isUnverified(claims) ? withoutAddresses(claims) : claims;
  return rules.filter((rule) => valuesOf(valueAt(known, rule.claim)).some((value) => matches(rule, value)));
}

function matches({ op, value }: ClaimRule, claim: string): boolean {
  return op === 'equals' ? claim === value : claim.startsWith(value);
}

/** Returns the values of a claim, or of the items of a list, as strings. Booleans and safe integers are converted to strings. Other values are omitted. */
function valuesOf(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim]).flatMap((value: unknown) =>
    typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value) ? [String(value)] : [],
  );
}

/** Maximum nesting of a claim. */
const MAX_DEPTH = 10;

/**
 * Returns the claim with this name. If no claim has the name, returns the value at a dotted path, such as `realm_access.roles` of Keycloak, also within each
 * item of a list (`groups.name` of Oracle). Names can contain dots themselves (`https://example.com/groups`, a client in `resource_access`), so the longest
 * existing name is tried first.
 */
function valueAt(claims: unknown, path: string, depth = 0): unknown {
  if (typeof claims !== 'object' || claims === null || depth === MAX_DEPTH) return undefined;
  if (Array.isArray(claims)) return claims.flatMap((item: unknown) => valueAt(item, path, depth + 1));
  const known = claims as Claims;
  if (Object.hasOwn(known, path)) return known[path];
  const parts = path.split('.');
  for (let length = parts.length - 1; length > 0; length -= 1) {
    const name = parts.slice(0, length).join('.');
    if (Object.hasOwn(known, name)) return valueAt(known[name], parts.slice(length).join('.'), depth + 1);
  }
  return undefined;
}

/**
 * Claims that contain an email address: OIDC; the list of Azure AD B2C; LDAP mail by name and OID; X.500 emailAddress (Keycloak); WS-Federation (Entra ID).
 * User names such as `preferred_username` and `upn` are not included, because many providers let users choose them.
 */
const ADDRESS_CLAIMS = [
  'email',
  'emails',
  'mail',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
];
/** Maximum length of an email address (RFC 5321 section 4.5.3.1.3). */
const MAX_ADDRESS_LENGTH = 254;

/**
 * Returns the email address of a new account in canonical form. The address does not identify the user, but approvers see the address, and SSH login rules use
 * it. An email address that the provider reports as unverified (OpenID Connect Core section 5.1) is rejected, because many providers let users enter any
 * address.
 *
 * @throws Problem `sso.no-address`, `sso.address-unverified`, `sso.address-misleading`
 */
export function addressOf(claims: Claims): string {
  const [text] = ADDRESS_CLAIMS.flatMap((name) => valuesOf(claims[name]));
  const address = text === undefined ? '' : canonical(text);
  const fault = nameFault(address);
  if (fault !== undefined) {
    const detail = `Your email address "${truncate(address, 100)}" at the identity provider ${fault}. Have the address corrected at the provider.`;
    throw new Problem('forbidden', 'sso.address-misleading', detail);
  }
  if (!isPlainAddress(address) || address.length > MAX_ADDRESS_LENGTH)
    throw new Problem('forbidden', 'sso.no-address', 'The identity provider did not return a valid email address.');
  if (isUnverified(claims)) {
    const detail =
      'The identity provider has not verified your email address. Verify the address at the provider, then sign in again.';
    throw new Problem('forbidden', 'sso.address-unverified', detail);
  }
  return address;
}

function isUnverified({ email_verified: verified }: Claims): boolean {
  return verified !== undefined && !(valuesOf(verified).length > 0 && valuesOf(verified).every(isYes));
}

function withoutAddresses(claims: Claims): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !ADDRESS_CLAIMS.includes(name)));
}

/** Reports whether a value is true. Accepts the booleans of JSON and of XML Schema, which some providers send as strings. */
function isYes(value: string): boolean {
  return ['true', '1'].includes(value.toLowerCase());
}

/** Claims that contain a person's groups: OIDC by convention, LDAP and Keycloak, ADFS, Entra ID. */
const GROUP_CLAIMS = [
  'groups',
  'memberOf',
  'http://schemas.xmlsoap.org/claims/Group',
  'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
];
const MAX_GROUPS = 1000;
const MAX_GROUP_LENGTH = 256;

/** Returns the person's groups according to the provider. */
export function groupsOf(claims: Claims): string[] {
  const named = GROUP_CLAIMS.flatMap((name) => valuesOf(claims[name])).filter(
    (group) => group.length <= MAX_GROUP_LENGTH && isStorable(group),
  );
  return [...new Set(named)].slice(0, MAX_GROUPS);
}

/** The SAML attribute with which Microsoft Entra ID reports that groups are available elsewhere, and the attribute that Entra ID omits in this case. */
const ENTRA_GROUPS_LINK = 'http://schemas.microsoft.com/claims/groups.link';
const ENTRA_GROUPS = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups';

/**
 * assertNothingLeftOut rejects claims if the provider omitted a claim that a rule needs. Providers omit the groups of users who are in very many
 * groups, and report that the claim is available elsewhere (`_claim_names`, OpenID Connect Core section 5.6.2; `hasgroups` and the SAML groups link
 * of Microsoft Entra ID). A missing claim is also rejected if a requested scope was not granted: the request passes through the browser, where a user
 * can remove the scope.
 *
 * @param withheld requested scopes that were not granted
 * @throws Problem `sso.claims-left-out`
 */
export function assertNothingLeftOut(
  claims: Claims,
  rules: readonly ClaimRule[],
  withheld: readonly string[] = [],
): void {
  const missing = leftOut(claims);
  const absent = rules.filter(({ claim }) => valueAt(claims, claim) === undefined);
  const needed = absent.find(({ claim }) => missing.some((name) => claim === name || claim.startsWith(`${name}.`)));
  if (needed === undefined && absent[0] !== undefined && withheld.length > 0) throw notGranted(withheld, absent[0]);
  if (needed === undefined) return;
  const detail = `The identity provider omitted the claim "${needed.claim}", because the claim has too many values. Configure the provider to send fewer values, for example only the groups assigned to the application.`;
  throw new Problem('forbidden', 'sso.claims-left-out', detail);
}

function notGranted(withheld: readonly string[], { claim }: ClaimRule): Problem {
  const detail = `The identity provider did not grant the scope "${withheld.join(' ')}" and did not send "${claim}", which a rule requires. Configure the provider to grant the scope, or remove the scope from the settings.`;
  return new Problem('forbidden', 'sso.claims-left-out', detail);
}

function leftOut(claims: Claims): string[] {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const named = typeof elsewhere === 'object' && elsewhere !== null ? Object.keys(elsewhere) : [];
  const hasMore = hasgroups === true || hasgroups === 'true';
  return [...named, ...(hasMore ? ['groups'] : []), ...(claims[ENTRA_GROUPS_LINK] === undefined ? [] : [ENTRA_GROUPS])];
}
