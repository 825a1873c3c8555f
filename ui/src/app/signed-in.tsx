import { Outlet } from '@tanstack/react-router';
import { Suspense } from 'react';
import { Busy } from '../patterns/busy.js';
import { StepUp } from '../patterns/step-up.js';
import { Toasts } from '../patterns/toasts.js';
import { Shell } from './shell.js';

/** SignedIn is the frame of all pages after sign-in. It is loaded separately to keep the sign-in page small. */
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
