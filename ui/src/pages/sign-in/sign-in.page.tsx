import {
  ActionGroup,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Content,
  Form,
  FormGroup,
  Stack,
  StackItem,
  TextInput,
  Title,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type SyntheticEvent, useEffect, useState } from 'react';
import { listSignInChoicesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { signWithPasskey, hasPasskeys } from '../../api/passkeys.js';
import type { LoginBody } from '../../api/generated/types.gen.js';
import { ApiProblem, problemOf } from '../../api/problem.js';
import { rememberSignIn, useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Problem } from '../../patterns/problem.js';
import { Logo } from '../../theme/logo.js';

type Step = 'password' | 'code' | 'recovery';

/** SignInPage asks for the password, then for the second factor if one is required. */
export function SignInPage() {
  const { t } = useI18n();
  const [step, setStep] = useState<Step>('password');
  useEffect(() => {
    document.title = `${t('signIn.title')} · ${t('brand')}`;
  }, [t]);
  return (
    <main className="sw-sign-in">
      <Card className="sw-sign-in__card" isLarge>
        <CardTitle>
          <div className="sw-brand">
            <Logo size={36} />
            <span className="sw-brand__name">{t('brand')}</span>
          </div>
        </CardTitle>
        <CardBody>
          <Stack hasGutter>
            <StackItem>
              <Title headingLevel="h1" size="xl">
                {t(step === 'password' ? 'signIn.title' : 'signIn.secondFactor')}
              </Title>
            </StackItem>
            <StackItem>
              <SignInForm step={step} setStep={setStep} />
            </StackItem>
            {step === 'password' && <SsoChoices />}
          </Stack>
        </CardBody>
      </Card>
    </main>
  );
}

function SignInForm({ step, setStep }: { step: Step; setStep: (step: Step) => void }) {
  const { t } = useI18n();
  const { signIn } = useSession();
  const [fields, setFields] = useState({ email: '', password: '', code: '' });
  const [error, setError] = useState(errorInUrl);
  const [isBusy, setBusy] = useState(false);
  const set = (name: keyof typeof fields) => (_event: unknown, value: string) =>
    setFields((before) => ({ ...before, [name]: value }));

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const code = fields.code.trim();
    const factor = step === 'code' ? { totp: code } : step === 'recovery' ? { recoveryCode: code } : {};
    enter(() => Promise.resolve(factor));
  };
  const enter = (show: () => Promise<Partial<LoginBody>>) => {
    setBusy(true);
    setError(undefined);
    const { email, password } = fields;
    show()
      .then((factor) => signIn({ email: email.trim(), password, ...factor }))
      .catch((cause: unknown) => {
        const problem = problemOf(cause);
        setBusy(false);
        if (problem.code === 'auth.second-factor-needed') setStep('code');
        else setError(problem);
      });
  };
  const withPasskey = () =>
    enter(async () => ({ passkey: await signWithPasskey(fields.email.trim(), fields.password) }));
  const switchStep = () => {
    setFields({ ...fields, code: '' });
    setStep(step === 'code' ? 'recovery' : 'code');
  };

  return (
    <Form onSubmit={submit} aria-label={t('signIn.title')}>
      {error !== undefined && <SignInProblem error={error} />}
      {step === 'password' ? (
        <>
          <FormGroup label={t('signIn.email')} fieldId="email" isRequired>
            <TextInput
              id="email"
              type="email"
              autoComplete="username"
              autoFocus
              isRequired
              value={fields.email}
              onChange={set('email')}
            />
          </FormGroup>
          <FormGroup label={t('signIn.password')} fieldId="password" isRequired>
            <TextInput
              id="password"
              type="password"
              autoComplete="current-password"
              isRequired
              value={fields.password}
              onChange={set('password')}
            />
          </FormGroup>
        </>
      ) : (
        <FormGroup label={t(step === 'code' ? 'signIn.code' : 'signIn.recoveryCode')} fieldId="code" isRequired>
          <TextInput
            id="code"
            key={step}
            autoFocus
            isRequired
            autoComplete="one-time-code"
            inputMode={step === 'code' ? 'numeric' : 'text'}
            value={fields.code}
            onChange={set('code')}
          />
        </FormGroup>
      )}
      <ActionGroup>
        <Button type="submit" isBlock isLoading={isBusy} isDisabled={isBusy}>
          {t('signIn.do')}
        </Button>
        {step !== 'password' && hasPasskeys() && (
          <Button variant="secondary" isBlock onClick={withPasskey} isDisabled={isBusy}>
            {t('signIn.usePasskey')}
          </Button>
        )}
        {step !== 'password' && (
          <Button variant="link" isBlock onClick={switchStep}>
            {t(step === 'code' ? 'signIn.useRecovery' : 'signIn.useCode')}
          </Button>
        )}
      </ActionGroup>
    </Form>
  );
}

/** errorInUrl returns the error code of a failed single sign-on (`#error=<code>`). */
function errorInUrl(): ApiProblem | undefined {
  const code = /^#error=([\w.-]+)$/.exec(location.hash)?.[1];
  return code === undefined ? undefined : new ApiProblem({ status: 401, code, title: '', detail: '', errors: [] });
}

/** SignInProblem shows a short message for common mistakes and the full problem otherwise. */
function SignInProblem({ error }: { error: ApiProblem }) {
  const { t, named } = useI18n();
  const known = {
    'auth.wrong-credentials': t('signIn.wrong'),
    'auth.wrong-code': t('signIn.wrongCode'),
    'passkey.not-shown': t('signIn.noPasskey'),
    'second-factor.no-passkey': t('signIn.noPasskey'),
    'auth.too-many-attempts': t('signIn.tooMany'),
  }[error.code];
  if (known === undefined && error.facts.detail === '') {
    return (
      <Alert component="h2" variant="danger" isInline title={t('signIn.ssoFailed', { code: error.code })} role="alert">
        {named('notSignedIn', error.code, '')}
      </Alert>
    );
  }
  if (known === undefined) return <Problem error={error} />;
  return <Alert component="h2" variant="danger" isInline title={known} role="alert" />;
}

/** withReturnTo makes the provider redirect back to the requested page after sign-in. */
function withReturnTo(login: string): string {
  const returnTo = `${location.pathname}${location.search}`;
  return `${login}&${new URLSearchParams({ returnTo, answer: 'cookie' }).toString()}`;
}

function SsoChoices() {
  const { t } = useI18n();
  const { data } = useQuery(listSignInChoicesOptions());
  if (data === undefined || data.items.length === 0) return null;
  return (
    <StackItem>
      <Stack hasGutter>
        <Content component="p" className="sw-divider">
          {t('signIn.or')}
        </Content>
        {data.items.map(({ name, label, login }) => (
          <Button
            key={name}
            variant="secondary"
            isBlock
            component="a"
            href={withReturnTo(login)}
            onClick={rememberSignIn}
          >
            {t('signIn.with', { name: label })}
          </Button>
        ))}
      </Stack>
    </StackItem>
  );
}
