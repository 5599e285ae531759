/* The newest 7.x against the server. */

import { describe } from 'node:test';
import { answers } from '../cases/answers.js';
import { approvals, expiry } from '../cases/approvals.js';
import { forgeries } from '../cases/forgeries.js';
import { failures, quota } from '../cases/refusals.js';
import { regenerates } from '../cases/regenerates.js';
import { resumes } from '../cases/resumes.js';
import { stops } from '../cases/stops.js';
import { place } from '../harness.js';
import * as sdk from './sdk.js';

describe('ai 7', () => {
  const here = place();
  answers(sdk, here);
  stops(sdk, here);
  resumes(sdk, here);
  regenerates(sdk, here);
  failures(sdk, here);
  approvals(sdk, here);
  forgeries(sdk, here);
});

describe('ai 7, one message in ten minutes', () => {
  quota(sdk, place({ FLATLINE_USER_LIMIT: '1/10m' }));
});

describe('ai 7, a second to approve', () => {
  expiry(sdk, place({ FLATLINE_ACTION_TTL: '1s' }));
});
