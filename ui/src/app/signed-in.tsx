import { Outlet } from '@tanstack/react-router';
import { Suspense } from 'react';
import { Busy } from '../patterns/busy.js';
import { StepUp } from '../patterns/step-up.js';
import { Toasts } from '../patterns/toasts.js';
import { Shell } from './shell.js';

/** All that surrounds a page for who is signed in; fetched then, so that the sign-in page is light. */
export function SignedIn() {
  return (
    <Toasts>
      <StepUp>
        <Shell>
          <Suspense fallback={<Busy />}>
            <Outlet />
          </Suspense>
        </Shell>
      </StepUp>
    </Toasts>
  );
}
