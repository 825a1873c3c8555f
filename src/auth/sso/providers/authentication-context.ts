import { Problem } from '../../../platform/errors/problem.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';

/** Returns the authentication context classes, one of which a sign-in must have; undefined if the provider may choose. */
export function requiredContexts({ settings }: Pick<IdentityProvider, 'settings'>): readonly string[] | undefined {
  if ('issuer' in settings) return nonEmpty(settings.acrValues);
  const requested = settings.requestedAuthnContext;
  if (requested == null) return undefined;
  const { classes, comparison, accepted = [] } = requested;
  // `better` requires a stronger class than any of the requested classes (SAML core section 3.3.2.2.1).
  return comparison === 'better' ? accepted : [...classes, ...accepted];
}

function nonEmpty(values: readonly string[] | undefined): readonly string[] | undefined {
  return values === undefined || values.length === 0 ? undefined : values;
}

/**
 * Verifies that the provider authenticated the person as strongly as requested. Requests pass through the browser, mostly unsigned, so a person can remove the
 * requirement from a request. Providers may also ignore the requirement.
 *
 * @param contexts `acr` of the ID token, or every AuthnContextClassRef of the signed assertion
 * @throws Problem `sso.weak-sign-in`
 */
export function assertStrongEnough(provider: Pick<IdentityProvider, 'settings'>, contexts: readonly string[]): void {
  const required = requiredContexts(provider);
  if (required === undefined) return;
  if (contexts.length > 0 && contexts.every((context) => required.includes(context))) return;
  const came =
    contexts.length === 0 ? 'did not report how it authenticated you' : `authenticated you with ${quoted(contexts)}`;
  const detail = `The identity provider ${came}. Required: ${required.length === 0 ? 'an authentication context class listed in the "accepted" setting of this provider, which is empty' : quoted(required, ' or ')}.`;
  throw new Problem('forbidden', 'sso.weak-sign-in', detail);
}

const MAX_SHOWN = 5;

function quoted(texts: readonly string[], separator = ', '): string {
  const shown = texts.slice(0, MAX_SHOWN).map((text) => `"${truncate(text, 200)}"`);
  return [...shown, ...(texts.length > MAX_SHOWN ? ['…'] : [])].join(separator);
}
