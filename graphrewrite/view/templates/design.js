"use strict";
// A browser opens what a link leads into; notebooks take the link over, scroll to what they can see, and open nothing.
((design) => {
  design?.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const sought = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!sought) return;
    for (let around = sought.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    for (const last of design.querySelectorAll(".sought")) last.classList.remove("sought");
    requestAnimationFrame(() => { if (!sought.matches(":target")) sought.classList.add("sought"); });
  }, true);
})(document.currentScript?.closest(".design"));
