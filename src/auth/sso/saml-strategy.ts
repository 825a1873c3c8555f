import { type Profile, type SamlConfig, Strategy, type VerifyWithoutRequest } from '@node-saml/passport-saml';

type Outcome = { readonly url: string } | { readonly profile: Profile };
type SamlRequest = Parameters<Strategy['authenticate']>[0];

/** Where to send a browser so that the provider asks who is there (HTTP-Redirect binding). */
export async function requestUrl(config: SamlConfig): Promise<string> {
  const outcome = await strategyRun(config, {});
  if ('url' in outcome) return outcome.url;
  throw new Error('passport-saml answers a request with a profile');
}

/**
 * What a response (HTTP-POST binding, base64) says of somebody.
 *
 * @throws Error with the reason when passport-saml refuses it.
 */
export async function profileIn(config: SamlConfig, encoded: string): Promise<Profile> {
  const outcome = await strategyRun(config, { SAMLResponse: encoded });
  if ('profile' in outcome) return outcome.profile;
  throw new Error('passport-saml answers a response with a redirect');
}

const takeProfile: VerifyWithoutRequest = (profile, done) => done(null, profile ?? undefined);
/** saml-logout-message.ts reads those: passport-saml reads more of them than what is signed. */
const refuseLogout: VerifyWithoutRequest = (_profile, done) => done(new Error('this is a message about signing out'));

/** One use of passport-saml's strategy, with the provider and the request that it is for; Passport's own middleware keeps one strategy for all. */
function strategyRun(config: SamlConfig, body: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const strategy = new Strategy(config, takeProfile, refuseLogout);
    strategy.success = (profile) => resolve({ profile: profile as Profile });
    strategy.redirect = (url) => resolve({ url });
    strategy.fail = () => reject(new Error('there is no profile'));
    strategy.error = reject;
    strategy.pass = () => reject(new Error('this is a message about signing out'));
    const request = { body, query: {}, headers: {} } as SamlRequest;
    strategy.authenticate(request, {});
  });
}
