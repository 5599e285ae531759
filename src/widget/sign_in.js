/* Claims the sign-in link as soon as a person's browser runs this; a link preview does not. */

document.querySelector('form').submit();
