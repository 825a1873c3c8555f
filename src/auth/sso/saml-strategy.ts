import {
  AbstractStrategy,
  type Profile,
  SAML,
  type SamlConfig,
  type VerifyWithoutRequest,
} from '@node-saml/passport-saml';

type Outcome = { readonly url: string } | { readonly profile: Profile };
type SamlRequest = Parameters<AbstractStrategy['authenticate']>[0];

/** Where to send a browser so that the provider asks who is there (HTTP-Redirect binding). */
export async function requestUrl(config: SamlConfig): Promise<string> {
  const outcome = await new OneAttempt(config).outcomeOf({});
  if ('url' in outcome) return outcome.url;
  throw new Error('passport-saml answers a request with a profile');
}

/**
 * What a response (HTTP-POST binding, base64) says of somebody.
 *
 * @throws Error with the reason when passport-saml refuses it.
 */
export async function profileIn(config: SamlConfig, encoded: string): Promise<Profile> {
  const outcome = await new OneAttempt(config).outcomeOf({ SAMLResponse: encoded });
  if ('profile' in outcome) return outcome.profile;
  throw new Error('passport-saml answers a response with a redirect');
}

/** node-saml, but for what it always asks for. */
class Requests extends SAML {
  /** Without the NameIDPolicy where no format is asked for: AD FS refuses one that it cannot satisfy, also without a format (MSIS7070). */
  protected override async generateAuthorizeRequestAsync(isPassive: boolean, isPost: boolean): Promise<string> {
    const xml = await super.generateAuthorizeRequestAsync(isPassive, isPost);
    return this.options.identifierFormat === null ? xml.replace(/<samlp:NameIDPolicy [^<>]*\/>/, '') : xml;
  }
}

const takeProfile: VerifyWithoutRequest = (profile, done) => done(null, profile ?? undefined);
/** saml-logout-message.ts reads those: passport-saml reads more of them than what is signed. */
const refuseLogout: VerifyWithoutRequest = (_profile, done) => done(new Error('this is a message about signing out'));

/** passport-saml's strategy for one attempt at one provider; Passport's own middleware keeps one strategy for all. */
class OneAttempt extends AbstractStrategy {
  static override readonly newSamlProviderOnConstruct = false;

  constructor(config: SamlConfig) {
    super(config, takeProfile, refuseLogout);
    this._saml = new Requests(config);
  }

  outcomeOf(body: Record<string, string>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.success = (profile) => resolve({ profile: profile as Profile });
      this.redirect = (url) => resolve({ url });
      this.fail = () => reject(new Error('there is no profile'));
      this.error = reject;
      this.pass = () => reject(new Error('this is a message about signing out'));
      this.authenticate({ body, query: {}, headers: {} } as SamlRequest, {});
    });
  }
}
